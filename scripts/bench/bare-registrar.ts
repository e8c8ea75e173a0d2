import { createSrf } from '../../media-app/sip/srf.ts';

/**
 * The yardstick of the registrar: drachtio-srf alone, which answers 200 to every REGISTER and remembers nothing.
 * Arguments: admin port, admin secret. Says it is ready in its first line.
 */
const [adminPort = '', secret = ''] = process.argv.slice(2);
const srf = createSrf();
srf.on('error', () => undefined); // the engine stops before we do
srf.register((request, response) =>
  response.send(200, { headers: { Contact: `${request.get('contact') ?? ''};expires=3600` } }),
);
await new Promise(resolve => {
  srf.once('connect', resolve);
  void srf.connect({ host: '127.0.0.1', port: Number(adminPort), secret });
});
console.log(JSON.stringify({ ready: 1 }));
