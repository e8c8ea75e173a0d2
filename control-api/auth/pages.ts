import { escapeHtml, htmlPage } from '../http/page.ts';

// Whole pages, without scripts: every form is posted by the browser itself, to the address beside it.

const hidden = (token: string): string => `<input type="hidden" name="token" value="${escapeHtml(token)}">`;

const resendForm = `<form method="post" action="/auth/email-verify-resend">
<label for="email">E-mail address of your account</label>
<input id="email" name="email" type="email" autocomplete="email" maxlength="255" required>
<button type="submit">Send me a new link</button>
</form>`;

const forgotForm = `<form method="post" action="/auth/password-forgot">
<label for="username">E-mail address you log in with</label>
<input id="username" name="username" type="email" autocomplete="username" maxlength="255" required>
<button type="submit">Send me a new link</button>
</form>`;

/** One button, so that programs which open links in letters to look at them verify nothing. */
export const verifyPage = (token: string): string =>
  htmlPage(
    'Confirm your e-mail address',
    `<p>One more step: confirm that this address is yours.</p>
<form method="post" action="/auth/email-verify">
${hidden(token)}
<button type="submit">Confirm my e-mail address</button>
</form>`,
  );

/** Shown for a link of a verification letter that is spent; it offers a new one. */
export const verifyExpiredPage = (): string =>
  htmlPage(
    'This link is no longer good',
    `<p>It has expired or was used already. If your address is not confirmed yet, we will send you a new link.</p>
${resendForm}`,
  );

/** Shown when an address has been confirmed. */
export const verifiedPage = (): string =>
  htmlPage(
    'Your e-mail address is confirmed',
    '<p>Thank you. We have sent you a letter with which you choose your password.</p>',
  );

/** Shown to whoever asked for a new link; it does not tell whether there is such an account. */
export const resentPage = (): string =>
  htmlPage(
    'Look into your mailbox',
    '<p>If an account with this address waits to be confirmed, a new link is on its way.</p>',
  );

/** The form behind the link of a letter, with its token, that sets a password. */
export const resetPage = (token: string): string =>
  htmlPage(
    'Choose a new password',
    `<form method="post" action="/auth/password-reset">
${hidden(token)}
<label for="password">New password</label>
<p id="rule">At least 8 characters; a few words that you can remember are best.</p>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="8" maxlength="72"
 aria-describedby="rule" required>
<button type="submit">Set my password</button>
</form>`,
  );

/** Shown when a password has been set. */
export const resetDonePage = (): string =>
  htmlPage('Your password is set', '<p>You can log in with it from now on.</p>');

/** Shown when the token is spent or the password too short or too long; it offers a new link. */
export const resetRefusedPage = (): string =>
  htmlPage(
    'The password was not set',
    `<p>The link has expired or was used already, or the password has fewer than 8 or more than 72 characters. To try
once more, ask for a new link.</p>
${forgotForm}`,
  );

/** Shown to whoever forgot a password; it does not tell whether there is such an account. */
export const forgotPage = (): string =>
  htmlPage('Look into your mailbox', '<p>If somebody logs in with this address, a link is on its way to it.</p>');
