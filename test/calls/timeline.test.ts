import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SipMessageRecord } from '#contract/timeline';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';

interface Analysis {
  sip_messages: SipMessageRecord[];
  rtcp_stats: Record<string, number> | null;
}
interface Entry {
  timestamp: string;
  event_type: string;
  data: Record<string, unknown>;
}

const tone = (ms: number) => [{ type: 'play', option: { stream_urls: [`tone_stream://%(${ms},0,900)`] } }];
const run = promisify(execFile);

describe('the timeline of a call', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  /** The analysis once the last message of the leg has been reported. */
  const analysis = (callId: string, last: (all: SipMessageRecord[]) => boolean): Promise<Analysis> =>
    eventually(
      'the whole analysis',
      async () => (await office.stack.api<Analysis>('GET', `/timelines/calls/${callId}/sip-analysis`)).body,
      seen => last(seen.sip_messages),
    );

  const story = async (callId: string): Promise<Entry[]> => {
    const { body } = await office.stack.api<{ result: Entry[] }>('GET', `/aggregated-events?call_id=${callId}`);
    return body.result.reverse();
  };

  const sentence = async (callId: string): Promise<string> => {
    const entries = await eventually(
      'the summary',
      async () => (await office.stack.api<{ result: Entry[] }>('GET', `/timelines/calls/${callId}/events`)).body.result,
      seen => seen.some(entry => entry.event_type === 'call_summary'),
    );
    return String(entries.find(entry => entry.event_type === 'call_summary')?.data['sentence']);
  };

  /** Who sent what, from the platform's side: `> INVITE`. */
  const directions = (messages: SipMessageRecord[], phone: TestPhone): string[] =>
    messages.map(one => `${one.src_port === phone.local.port ? '<' : '>'} ${one.method}`);

  const answeredBy = (messages: SipMessageRecord[], method: string): boolean =>
    messages.some(one => one.method === '200' && new RegExp(`^cseq:\\s*\\d+ ${method}`, 'im').test(one.raw));

  it('shows every SIP message of a call we place, in order, with the addresses they went between', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', tone(400));
    await (await phone.waitForCall()).ended();
    await office.ended(call.id);
    const { sip_messages, rtcp_stats } = await analysis(call.id, all => answeredBy(all, 'BYE'));
    assert.deepEqual(
      directions(sip_messages, phone).filter(line => line !== '< 100'),
      ['> INVITE', '< 180', '< 200', '> ACK', '> BYE', '< 200'],
    );
    const ends = new Set(
      sip_messages.flatMap(one => [`${one.src_ip}:${one.src_port}`, `${one.dst_ip}:${one.dst_port}`]),
    );
    const { host, port } = office.stack.sip;
    assert.deepEqual([...ends].sort(), [`${host}:${port}`, `${phone.local.host}:${phone.local.port}`].sort());
    const times = sip_messages.map(one => one.timestamp);
    assert.deepEqual(times, [...times].sort());
    assert(rtcp_stats);
    assert(Number(rtcp_stats['rtp_packets']) > 5, JSON.stringify(rtcp_stats));
    assert(Number(rtcp_stats['mos']) > 3, JSON.stringify(rtcp_stats));
  });

  it('shows a call that came in from its first INVITE, and never the phone’s answer to our challenge', async () => {
    const phone = await office.registered('1001');
    const out = await phone.dial(office.stack.welcome.number);
    await out.answered();
    await out.hangup();
    const [call] = await office.calls(1);
    assert(call);
    await office.ended(call.id);
    const { sip_messages } = await analysis(call.id, all => answeredBy(all, 'BYE'));
    const seen = directions(sip_messages, phone).filter(line => line !== '> 180');
    assert.deepEqual(seen.slice(-4), ['> 200', '< ACK', '< BYE', '> 200']);
    assert.equal(seen[0], '< INVITE');
    const text = sip_messages.map(one => one.raw).join('\n');
    for (const [, answer] of text.matchAll(/\bresponse="?([^",\s]+)/g)) assert.match(answer ?? '', /^\*+$/);
  });

  it('is a capture file in which tshark finds the same messages', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', tone(200));
    await (await phone.waitForCall()).ended();
    const { sip_messages } = await analysis(call.id, all => answeredBy(all, 'BYE'));
    const { baseUrl, welcome } = office.stack;
    const answer = await fetch(`${baseUrl}/v1.0/timelines/calls/${call.id}/pcap?accesskey=${welcome.accesskey}`);
    assert.equal(answer.headers.get('content-type'), 'application/vnd.tcpdump.pcap');
    assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="call-/);
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-pcap-'));
    const file = join(folder, 'call.pcap');
    await writeFile(file, Buffer.from(await answer.arrayBuffer()));
    const fields = ['sip.Method', 'sip.Status-Code', 'udp.srcport', 'udp.checksum.status', 'ip.checksum.status'];
    const options = ['-o', 'udp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE', '-T', 'fields'];
    const { stdout } = await run('tshark', ['-r', file, ...options, ...fields.flatMap(name => ['-e', name])]);
    await rm(folder, { recursive: true });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'));
    assert.deepEqual(
      rows.map(([method, status, port]) => `${method || status} ${port}`),
      sip_messages.map(one => `${one.method} ${one.src_port}`),
    );
    assert(
      rows.every(([, , , udp, ip]) => udp === '1' && ip === '1'),
      stdout,
    );
  });

  it('says in one sentence why it ended: hung up by us, by the phone, busy, declined, canceled', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const byUs = await office.ring('1001', tone(200));
    await (await phone.waitForCall()).ended();
    assert.match(await sentence(byUs.id), /^The platform hung up on extension 1001 after 0\.\d s\.$/);

    const byPhone = await office.ring('1001', tone(5000));
    const incoming = await phone.waitForCall();
    await incoming.hears(900);
    await incoming.hangup();
    assert.match(await sentence(byPhone.id), /^extension 1001 hung up after \d\.\d s\.$/);

    phone.incoming = { refuse: 486 };
    assert.equal(await sentence((await office.ring('1001', tone(200))).id), 'extension 1001 was busy (SIP 486).');
    phone.incoming = { refuse: 603 };
    assert.equal(
      await sentence((await office.ring('1001', tone(200))).id),
      'extension 1001 declined the call (SIP 603).',
    );

    phone.incoming = {};
    const canceled = await office.ring('1001', tone(200));
    const ringing = await phone.waitForCall();
    await office.stack.api('POST', `/calls/${canceled.id}/hangup`);
    await ringing.ended();
    assert.equal(await sentence(canceled.id), 'The call to extension 1001 was canceled before it was answered.');
  });

  it('tells the story of a call between two phones in order: both legs, the steps of the flow, the media', async () => {
    const alice = await office.registered('1001');
    const bob = await office.registered('1002', { incoming: { autoAnswer: true } });
    const out = await alice.dial('1002');
    await out.answered();
    await (await bob.waitForCall()).answered();
    await out.hangup();
    const [leg, caller] = await eventually(
      'both records',
      () => office.calls(2),
      calls => calls.every(one => one.status === 'hangup'),
    );
    assert(leg && caller);
    const entries = await eventually(
      'what was seen of both legs',
      () => story(caller.id),
      seen =>
        ['call_media', 'call_summary'].every(type => seen.filter(one => one.event_type === type).length === 2) &&
        [leg.id, caller.id].every(id => seen.some(({ data }) => data['method'] === 'BYE' && data['call_id'] === id)),
    );
    const times = entries.map(one => one.timestamp);
    assert.deepEqual(times, [...times].sort());
    const calls = (type: string) => entries.filter(one => one.event_type === type).map(one => one.data['call_id']);
    assert.deepEqual(new Set(calls('sip_message')), new Set([leg.id, caller.id]));
    assert.deepEqual(new Set(calls('call_summary')), new Set([leg.id, caller.id]));
    const step = entries.find(one => one.event_type === 'activeflow_step');
    assert.equal((step?.data['action'] as { type: string }).type, 'connect');
    const media = entries.find(one => one.event_type === 'call_media');
    assert.match(String(media?.data['codec']), /^PCM[AU]$/);
    assert(String(media?.data['first_audio']) > (caller.tm_create ?? ''), 'the first audio came after the call');
    assert.equal(entries[0]?.event_type, 'sip_message', 'it begins with the INVITE');
  });

  it('names the variables that a step changed, and a step that failed with its reason', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', [
      { type: 'variable_set', option: { key: 'colour', value: 'green' } },
      { type: 'play', option: { stream_urls: ['/no/such/file.wav'] } },
      ...tone(100),
    ]);
    await (await phone.waitForCall()).ended();
    await sentence(call.id);
    const steps = (await story(call.id)).filter(one => one.event_type === 'activeflow_step').map(one => one.data);
    const [set, play] = steps;
    assert.deepEqual(set?.['variables'], { colour: { before: null, after: 'green' } });
    assert.equal(set?.['outcome'], 'next');
    assert.equal(play?.['outcome'], 'failed');
    assert.notEqual(play?.['reason'], '');
  });
});
