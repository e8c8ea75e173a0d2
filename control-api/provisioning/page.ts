import { toRfc3339, type Timestamp } from '#contract/time';
import { escapeHtml, htmlPage } from '../http/page.ts';
import { qrSvg } from './qr.ts';

/** For the person who opens the address of a phone's settings in a browser. Shows no password, runs and fetches nothing. */
export const provisioningPage = async (url: string, username: string, tm_expire: Timestamp): Promise<string> => {
  const address = escapeHtml(url);
  const until = toRfc3339(tm_expire);
  return htmlPage(
    `Set up extension ${username} on a phone`,
    `<p>This address is meant for a phone, not for a browser. A phone that opens it is set up as extension
<strong>${escapeHtml(username)}</strong> by itself.</p>
<h2>A phone app</h2>
<p>In the app (Linphone and its relatives) choose to scan a QR code or “remote provisioning”, and point the camera
here:</p>
${await qrSvg(url, `QR code of the address ${url}`)}
<p>Without a camera, copy the address into the app:<br><code>${address}</code></p>
<p>The code as a file: <a href="${address}/qr.svg">SVG</a>, <a href="${address}/qr.png">PNG</a></p>
<h2>A desk phone</h2>
<p>Phones of Yealink, Grandstream and Snom, and Cisco SPA phones: enter the address as the provisioning server in the
phone’s own web page, and let it provision now.</p>
<h2>Keep it to yourself</h2>
<p>Whoever has this address gets the password of the extension. It works until
<time datetime="${until}">${until.slice(11, 16)} UTC</time>; after that, ask for a new one.</p>`,
  );
};

/** For the person whose address is no longer good, whatever the reason. */
export const spentPage = (): string =>
  htmlPage(
    'This address is no longer good',
    `<p>It was meant to set up a phone, and works for ten minutes only. If the phone is not set up yet, ask whoever gave
it to you for a new one.</p>`,
  );
