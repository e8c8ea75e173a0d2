import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The yardstick of the engine: one process that sends every packet back, on as many ports as its argument says. */
const ports: number[] = [];
for (let count = Number(process.argv[2]); count > 0; count--) {
  const socket = createSocket({ type: 'udp4', lookup: (host, _options, done) => done(null, host, 4) });
  socket.on('message', (packet, from) => socket.send(packet, from.port, from.address));
  const listening = once(socket, 'listening'); // with a synchronous look-up it is emitted inside bind()
  socket.bind(0, '127.0.0.1');
  await listening;
  ports.push(socket.address().port);
}
console.log(JSON.stringify({ ports }));
