import { strict as assert } from 'node:assert';
import { createLog } from '#process/log';
import { MediaServers } from '../../../media-app/media/servers.ts';
import { SipServers } from '../../../media-app/sip/servers.ts';
import { eventually } from '../../support/eventually.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { ENGINE_SECRETS, EngineUnderTest } from './engine-under-test.ts';

describe('freeswitch: an endpoint that comes too late', () => {
  engineOnly(
    'they do not say at any moment what they hold',
    'goes back to the media server, which holds nothing of it afterwards',
    async () => {
      const under = await EngineUnderTest.start();
      const { adminPort, eventSocketPort } = under.engine;
      const log = createLog('media-app', 'silent');
      const at = (port: number, secret: string) => [{ host: '127.0.0.1', port, secret }];
      const sip = new SipServers(at(adminPort, ENGINE_SECRETS.secret), log);
      const nobody = (): void => undefined;
      await sip.start({ invite: nobody, register: nobody, options: nobody, subscribe: nobody });
      const media = new MediaServers(at(eventSocketPort, ENGINE_SECRETS.password), '127.0.0.1', sip, log, 1);
      await media.start();
      let most = 0;
      const look = async () => (most = Math.max(most, (await under.engine.stats()).channels));
      const watch = setInterval(() => void look(), 1);
      try {
        await assert.rejects(media.createEndpoint(undefined), /create endpoint: no answer within 1 ms/);
        await eventually('a channel', () => most, channels => channels === 1); // prettier-ignore
        const held = async () => {
          const { dialogs, channels, rtp_ports } = await under.engine.stats();
          return { dialogs, channels, rtp_ports };
        };
        const nothing = JSON.stringify({ dialogs: 0, channels: 0, rtp_ports: 0 });
        await eventually('nothing held', held, now => JSON.stringify(now) === nothing); // prettier-ignore
      } finally {
        clearInterval(watch);
        media.stop();
        sip.stop();
        await under.stop();
      }
    },
  );
});
