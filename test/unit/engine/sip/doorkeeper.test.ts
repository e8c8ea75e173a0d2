import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Doorkeeper } from '../../../../engine/sip/transports/doorkeeper.ts';
import { eventually } from '../../../support/eventually.ts';

describe('sip: the doorkeeper', () => {
  let server: Server;
  let keeper: Doorkeeper;
  const sockets: Socket[] = [];

  const start = async (most: number): Promise<void> => {
    keeper = new Doorkeeper(60_000, 0, most);
    server = createServer(socket => socket.on('error', () => undefined));
    keeper.watch(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
  };
  afterEach(() => {
    for (const one of sockets.splice(0)) one.destroy();
    keeper.stop();
    server.close();
  });

  /** Our end of a connection from there, and the server's. */
  const visit = async (localAddress: string): Promise<{ socket: Socket; guest: Socket }> => {
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const socket = connect({ port, host: '127.0.0.1', localAddress }).resume();
    sockets.push(socket.on('error', () => undefined));
    const [[guest]] = await Promise.all([accepted, once(socket, 'connect')]);
    return { socket, guest };
  };
  const stays = (one: { socket: Socket }): boolean => !one.socket.destroyed;
  const goes = (one: { socket: Socket }) => eventually('the end of it', () => stays(one), open => !open); // prettier-ignore

  it('when the house is full the oldest of whoever has most that nobody knows makes room', async () => {
    await start(5);
    const [phone, first, second, third, other] = [
      await visit('127.0.0.2'),
      await visit('127.0.0.3'),
      await visit('127.0.0.3'),
      await visit('127.0.0.3'),
      await visit('127.0.0.4'),
    ];
    // A message makes nobody known: any stranger can send one.
    for (const { guest } of [phone, first, second, third, other]) keeper.met(guest);
    const late = await visit('127.0.0.5');
    await goes(first);
    assert.deepEqual([phone, second, third, other, late].map(stays), [true, true, true, true, true]);
  });

  it('half messages and what nobody reads take 8 MB of one source together', async () => {
    await start(10);
    const [one, same, other] = [await visit('127.0.0.2'), await visit('127.0.0.2'), await visit('127.0.0.3')];
    const MB = 2 ** 20;
    assert(keeper.holds(one.guest, 3 * MB));
    assert(keeper.owes(one.guest, 3 * MB));
    assert(!keeper.owes(same.guest, 3 * MB));
    assert(keeper.owes(other.guest, 3 * MB));
    assert(keeper.owes(one.guest, 0));
    assert(keeper.owes(same.guest, 3 * MB));
    one.socket.destroy();
    await once(one.guest, 'close');
    assert(keeper.holds(same.guest, 5 * MB));
  });

  it('who has proved who he is makes room for nobody', async () => {
    await start(3);
    const office = [await visit('127.0.0.2'), await visit('127.0.0.2')];
    for (const { guest } of office) keeper.trust(guest);
    const stranger = await visit('127.0.0.3');
    const phone = await visit('127.0.0.4');
    keeper.trust(phone.guest);
    await goes(stranger);
    assert((await visit('127.0.0.5')).guest.destroyed); // nobody is left to go
    assert.deepEqual([...office, phone].map(stays), [true, true, true]);
    const [leaving] = office;
    leaving?.socket.destroy();
    await once(leaving?.guest ?? server, 'close');
    assert(!(await visit('127.0.0.5')).guest.destroyed);
  });
});
