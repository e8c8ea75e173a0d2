import { strict as assert } from 'node:assert';
import { engineOnly } from '../support/engine-only.ts';
import { browserAudio } from '../support/browser-audio.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import type { TestPhone } from '../support/phone.ts';
import { srtpAudio } from '../support/srtp-audio.ts';

/** How long keys and paths may take on a busy machine. */
const PATIENCE = { within_ms: 12_000 };

const NO_DTLS = 'our configuration of FreeSWITCH has no DTLS';
const NO_OFFER = 'our configuration of FreeSWITCH offers plain RTP alone';

describe('a phone with encrypted media', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  const kinds = [
    { name: 'a browser over WSS', transport: 'wss', audio: browserAudio, protocol: 'UDP/TLS/RTP/SAVPF' },
    { name: 'a desk phone with SRTP over TLS', transport: 'tls', audio: srtpAudio, protocol: 'RTP/SAVP' },
  ] as const;

  const secured = ({ transport, audio }: (typeof kinds)[number]): Promise<TestPhone> => {
    const server = { host: office.stack.sip.host, port: office.stack.sipPorts[transport] };
    return office.registered('1001', { transport, server, audio, tone: 500 });
  };

  const hearEachOther = (phone: PhoneCall, desk: PhoneCall): Promise<unknown> =>
    Promise.all([phone.hearsOnly([900], PATIENCE), desk.hearsOnly([500], PATIENCE)]);

  for (const kind of kinds) {
    const calls = kind.transport === 'wss' ? engineOnly.bind(undefined, NO_DTLS) : it;
    calls(
      `${kind.name} calls a G.711 phone: both hear each other, through hold and resume by either side`,
      async () => {
        const phone = await secured(kind);
        const bob = await office.registered('1002', { tone: 900 });
        const out = await phone.dial('1002');
        const incoming = await bob.waitForCall();
        incoming.answer();
        await out.answered();
        await hearEachOther(out, incoming);
        const answer = phone.messages('200 INVITE', 'received').at(-1)?.message.body ?? '';
        assert.ok(answer.includes(` ${kind.protocol} `), answer);
        assert.equal(await out.hold(true), 200);
        await out.hearsSilence(PATIENCE);
        assert.equal(await out.hold(false), 200);
        await hearEachOther(out, incoming);
        const [, call] = await office.calls(2);
        assert(call);
        assert.equal((await office.stack.api('POST', `/calls/${call.id}/hold`)).status, 200);
        await phone.message('INVITE', { direction: 'received' });
        await Promise.all([out.hearsSilence(PATIENCE), incoming.hearsSilence(PATIENCE)]);
        assert.equal((await office.stack.api('DELETE', `/calls/${call.id}/hold`)).status, 200);
        await phone.message('INVITE', { direction: 'received', count: 2 });
        await hearEachOther(out, incoming);
        await out.hangup();
        await incoming.ended();
      },
    );

    engineOnly(NO_OFFER, `${kind.name} is called by a G.711 phone: both hear each other`, async () => {
      const phone = await secured(kind);
      const bob = await office.registered('1002', { tone: 900 });
      const out = await bob.dial('1001');
      const incoming = await phone.waitForCall();
      incoming.answer();
      await out.answered();
      await hearEachOther(incoming, out);
      const offer = phone.messages('INVITE', 'received').at(-1)?.message.body ?? '';
      assert.ok(offer.includes(` ${kind.protocol} `), offer);
      await out.hangup();
      await incoming.ended();
    });

    engineOnly(NO_OFFER, `${kind.name} is called by the API and hears what is played`, async () => {
      const phone = await secured(kind);
      const actions = [{ type: 'play', option: { stream_urls: ['tone_stream://L=20;%(1000,0,700)'] } }];
      await office.ring('1001', actions);
      const incoming = await phone.waitForCall();
      incoming.answer();
      await incoming.hears(700, PATIENCE);
      await incoming.hangup();
    });
  }
});
