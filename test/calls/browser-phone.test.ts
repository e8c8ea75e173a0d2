import { strict as assert } from 'node:assert';
import { rmSync } from 'node:fs';
import { judged } from '../../scripts/test/judged.ts';
import { BrowserPhone } from '../support/browser-phone.ts';
import { engineOnly } from '../support/engine-only.ts';
import { Office, type PhoneAccount } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import type { TestPhone } from '../support/phone.ts';
import { sharedStack, temporaryFolder } from '../support/stack.ts';

const NO_DTLS = 'our configuration of FreeSWITCH has no DTLS';
/** The held low note of the first bar of the music on hold. */
const MUSIC_HZ = 262;
/** How long ICE and DTLS may take on a busy machine. */
const PATIENCE = { within_ms: 12_000 };

describe('a browser phone: JsSIP in Chromium, registered over secure WebSocket', function () {
  this.timeout(45_000);
  let office: Office;
  let folder: string;
  let thirdId = '';
  let browser: BrowserPhone | undefined;
  let desk: TestPhone;
  let colleague: TestPhone;

  before(async () => {
    office = new Office(await sharedStack());
    folder = temporaryFolder();
    const [account] = office.stack.welcome.extensions;
    if (!account) throw new Error('the first start made no extension');
    [browser, desk, colleague] = await Promise.all([
      BrowserPhone.start({ stack: office.stack, account, transport: 'wss', tone: 500, folder }),
      office.registered('1002', { tone: 900, codecs: ['PCMU'] }),
      thirdPhone(),
    ]);
  });
  beforeEach(() => browser?.forget());
  afterEach(async () => {
    if (judged.failed) {
      browser?.drop();
      await Promise.allSettled(desk.calls.map(call => call.hangup()));
    }
    await office.nothingLeft();
  });
  after(async () => {
    await browser?.stop();
    await office.close();
    await office.stack.api('DELETE', `/extensions/${thirdId}`);
    rmSync(folder, { recursive: true, force: true });
  });

  const thirdPhone = async (): Promise<TestPhone> => {
    const password = 'a long password';
    const third = { extension: '1377', password };
    const { status, body } = await office.stack.api<PhoneAccount & { id: string }>('POST', '/extensions', third);
    assert.equal(status, 200, JSON.stringify(body));
    thirdId = body.id;
    const made = await office.phoneOf({ ...body, password }, { tone: 1300, codecs: ['PCMA'] });
    await made.register();
    return made;
  };

  const phone = (): BrowserPhone => {
    if (!browser) throw new Error('Chromium did not start');
    return browser;
  };
  const together = (call: PhoneCall): Promise<unknown> =>
    Promise.all([phone().ear.hearsOnly([900], PATIENCE), call.hearsOnly([500], PATIENCE)]);

  engineOnly(
    NO_DTLS,
    'it calls a G.711 phone and both hear each other, also after it held the call; it consults a third one and joins the two',
    async () => {
      const [call] = await Promise.all([desk.waitForCall({ autoAnswer: true }), phone().dial('1002')]);
      await together(call);
      await phone().hold();
      await Promise.all([phone().ear.hearsSilence(), call.hearsSilence()]);
      await phone().resume();
      await together(call);
      const [other] = await Promise.all([colleague.waitForCall({ autoAnswer: true }), phone().consult('1377')]);
      await Promise.all([
        ...[phone().ear.hearsOnly([1300], PATIENCE), other.hearsOnly([500], PATIENCE), call.hearsSilence()],
      ]);
      await Promise.all([phone().join(), call.hearsOnly([1300]), other.hearsOnly([900])]);
      await Promise.all([call.hangup(), other.ended()]);
    },
  );

  engineOnly(
    NO_DTLS,
    'a G.711 phone calls it and both hear each other, also after music on hold; it hands the caller on blind',
    async () => {
      const call = await desk.dial('1001');
      await Promise.all([phone().answer(), call.answered()]);
      await together(call);
      const [leg] = await office.calls(1);
      const control = (method: string, what: string) => office.stack.api(method, `/calls/${leg?.id}/${what}`);
      await control('POST', 'moh');
      await phone().ear.hears(MUSIC_HZ);
      await control('POST', 'hold');
      await call.hearsSilence();
      await control('DELETE', 'moh');
      await control('DELETE', 'hold');
      await together(call);
      await phone().transfer(office.stack.welcome.number);
      await Promise.all([call.hearsSpeech(), phone().ended()]);
      await call.hangup();
    },
  );
});
