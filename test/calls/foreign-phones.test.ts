import { strict as assert } from 'node:assert';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Call } from '#contract/call';
import { judged } from '../../scripts/test/judged.ts';
import { Baresip } from '../support/baresip.ts';
import type { ForeignPhone, ForeignPhoneOptions } from '../support/foreign-phone.ts';
import { Linphone } from '../support/linphone.ts';
import { Office, type PhoneAccount } from '../support/office.ts';
import { Rooms } from '../support/rooms.ts';
import { sharedStack, temporaryFolder } from '../support/stack.ts';

/** The held low note of the first bar of the music on hold. */
const MUSIC_HZ = 262;
/** linphonec writes what it hears four times a second: silence is what lasts longer. */
const QUIET = { for_ms: 500 };

type Extension = PhoneAccount & { id: string };

describe('phones that others wrote: baresip over UDP and TCP, linphonec over TLS', function () {
  this.timeout(30_000);
  let office: Office;
  let rooms: Rooms;
  let folder: string;
  let ann: Baresip;
  let leo: Linphone;
  let bea: Baresip;
  const ids: string[] = [];

  /** What a new extension’s phone is told. */
  const extension = async (
    name: string,
    tone: number,
    transport: ForeignPhoneOptions['transport'],
  ): Promise<ForeignPhoneOptions> => {
    const { stack } = office;
    const password = `secret-of-${name}`; // a line of baresip's accounts ends at a space
    const { status, body } = await stack.api<Extension>('POST', '/extensions', { extension: name, password });
    assert.equal(status, 200, JSON.stringify(body));
    ids.push(body.id);
    mkdirSync(join(folder, name));
    return { stack, account: { ...body, password }, transport, tone, folder: join(folder, name) };
  };

  before(async () => {
    office = new Office(await sharedStack());
    rooms = new Rooms(office);
    folder = temporaryFolder();
    [ann, leo, bea] = await Promise.all([
      extension('1701', 500, 'udp').then(one => Baresip.start(one)),
      extension('1702', 900, 'tls').then(one => Linphone.start(one)),
      extension('1703', 1300, 'tcp').then(one => Baresip.start(one)),
    ]);
  });
  beforeEach(() => [ann, leo, bea].forEach(phone => phone.forget()));
  afterEach(async () => {
    if (judged.failed) for (const phone of [ann, leo, bea]) phone.drop();
    await office.nothingLeft();
  });
  after(async () => {
    await Promise.all([ann, leo, bea].map(phone => phone?.stop()));
    for (const id of ids) await office.stack.api('DELETE', `/extensions/${id}`);
    await office.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const together = (one: ForeignPhone, other: ForeignPhone): Promise<unknown> =>
    Promise.all([one.ear.hearsOnly([other.tone]), other.ear.hearsOnly([one.tone])]);

  /** One calls the other, who answers, and they hear each other: the records of the caller’s call and of the callee’s. */
  const talk = async (caller: ForeignPhone, callee: ForeignPhone): Promise<[Call, Call]> => {
    await Promise.all([caller.dial(callee.name), callee.answer()]);
    await together(caller, callee);
    const [leg, first] = await office.calls(2);
    assert(leg && first?.id === leg.master_call_id);
    return [first, leg];
  };

  const control = async (method: 'POST' | 'DELETE', id: string, what: string, body = {}): Promise<void> => {
    const { status } = await office.stack.api(method, `/calls/${id}/${what}`, body);
    assert.equal(status, 200);
  };

  it('baresip calls linphonec and holds it: nobody is heard, and after it resumes both are', async () => {
    await talk(ann, leo);
    await ann.hold();
    await Promise.all([leo.ear.hearsSilence(QUIET), ann.ear.hearsSilence(QUIET)]);
    await ann.resume();
    await leo.ear.hearsOnly([ann.tone]);
    await ann.echo();
    await leo.ear.hearsOnly([leo.tone]);
    await ann.echo(false);
    await Promise.all([ann.hangup(), leo.ended()]);
  });

  it('linphonec calls baresip and holds it: it hears nothing, plays its own music, and after it resumes both hear', async () => {
    await talk(leo, ann);
    await leo.hold();
    await leo.ear.hearsSilence(QUIET);
    await ann.ear.hearsOnly([leo.tone]); // its music on hold is the file that it plays
    await leo.resume();
    await together(leo, ann);
    await Promise.all([leo.hangup(), ann.ended()]);
  });

  it('either is held by the API, hears music on hold and talks on', async () => {
    const [first, leg] = await talk(leo, ann);
    for (const [id, held, other] of [
      [first.id, leo, ann],
      [leg.id, ann, leo],
    ] as const) {
      await control('POST', id, 'moh');
      await held.ear.hears(MUSIC_HZ);
      await control('POST', id, 'hold');
      await other.ear.hearsSilence(QUIET);
      await control('DELETE', id, 'moh');
      await control('DELETE', id, 'hold');
      await other.ear.hearsOnly([held.tone]);
    }
    await leo.ear.hearsOnly([ann.tone]);
    await ann.echo();
    await leo.ear.hearsOnly([leo.tone]);
    await ann.echo(false);
    await Promise.all([ann.hangup(), leo.ended()]);
  });

  it('baresip transfers a caller blind: the third phone rings and has the caller', async () => {
    await talk(leo, ann);
    await Promise.all([ann.transfer(bea.name), bea.answer(), ann.ended()]);
    await together(leo, bea);
    await Promise.all([leo.hangup(), bea.ended()]);
  });

  it('linphonec transfers a caller blind: the third phone rings and has the caller', async () => {
    await talk(ann, leo);
    await Promise.all([leo.transfer(bea.name), bea.answer()]);
    await Promise.all([together(ann, bea), leo.ended()]);
    await Promise.all([bea.hangup(), ann.ended()]);
  });

  for (const [how, first, second] of [
    ['whom it called to whom it called', true, true],
    ['who called to another who called', false, false],
  ] as const) {
    it(`linphonec transfers attended, ${how}: the two hear each other and it is out`, async () => {
      await (first ? talk(leo, ann) : talk(ann, leo));
      await leo.hold();
      await (second ? talk(leo, bea) : talk(bea, leo));
      await leo.handOver();
      await Promise.all([together(ann, bea), leo.ended().then(() => leo.ended())]);
      await Promise.all([ann.hangup(), bea.ended()]);
    });
  }

  it('three in a conference hear the other two; one is held, one muted, and each comes back', async () => {
    const { id } = await rooms.open();
    const flow = [{ type: 'conference_join', option: { conference_id: id } }];
    const comesIn = async (phone: ForeignPhone): Promise<string> => {
      const call = await office.ring(phone.name, flow);
      await phone.answer();
      return call.id;
    };
    const dialled = ann.dial(`sip:${id}@conference.trunkline.localhost`);
    const [muted, held] = await Promise.all([comesIn(leo), comesIn(bea), dialled]);
    const all = (): Promise<unknown> =>
      Promise.all([leo.ear.hearsOnly([ann.tone, bea.tone]), bea.ear.hearsOnly([ann.tone, leo.tone])]);
    await Promise.all([all(), ann.ear.hearsOnly([leo.tone, bea.tone])]);
    await control('POST', muted, 'mute', { direction: 'out' });
    await Promise.all([bea.ear.hearsOnly([ann.tone]), leo.ear.hearsOnly([ann.tone, bea.tone])]);
    await control('DELETE', muted, 'mute', { direction: 'out' });
    await control('POST', held, 'hold');
    await leo.ear.hearsOnly([ann.tone]);
    await control('DELETE', held, 'hold');
    await ann.hold();
    await leo.ear.hearsOnly([bea.tone]);
    await ann.resume();
    await leo.ear.hearsOnly([ann.tone, bea.tone]);
    await rooms.close(id);
    await Promise.all([ann.ended(), leo.ended(), bea.ended()]);
  });
});
