import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { closePort, listen } from '../../../engine/listen.ts';

describe('a port that is listened on', () => {
  let server: Server;
  beforeEach(() => {
    server = createServer(socket => socket.end());
  });
  afterEach(() => closePort(server));

  it('is named when another program has it', async () => {
    const port = await listen(server, 'on tcp', { host: '127.0.0.1', port: 0 });
    const second = listen(createServer(), 'for applications on', { host: '127.0.0.1', port });
    await assert.rejects(
      second,
      new RegExp(`^Error: cannot listen for applications on 127.0.0.1:${port}: .*EADDRINUSE`),
    );
  });

  it('stays open when connections cannot be taken, as without file descriptors', async () => {
    const port = await listen(server, 'on tcp', { host: '127.0.0.1', port: 0 });
    for (let attempt = 0; attempt < 2; attempt++) server.emit('error', new Error('accept EMFILE'));
    await once(connect(port, '127.0.0.1'), 'connect');
  });
});
