import type { Timestamp } from '#contract/time';

/** A letter to one person, as plain text. */
export interface Letter {
  /** What it is about; part of the file's name where letters are written to files. */
  kind: 'verify' | 'verify_again' | 'welcome' | 'password' | 'goodbye' | 'deleted';
  subject: string;
  body: string;
}

const letter = (kind: Letter['kind'], subject: string, ...paragraphs: string[]): Letter => ({
  kind,
  subject,
  body: `${['Hello,', ...paragraphs, 'Trunkline'].join('\n\n')}\n`,
});

const day = (moment: Timestamp): string => `${moment.slice(0, 16)} UTC`;

/** After signup, and on request again: the link proves that the address can be read (accounts-and-plumbing 8.8). */
export const verifyLetter = (link: string, kind: 'verify' | 'verify_again'): Letter =>
  letter(
    kind,
    'Please confirm your e-mail address',
    'somebody, most likely you, has opened a Trunkline account with this e-mail\naddress. Open this link within 24 hours to confirm that it is yours:',
    link,
    'If it was not you, there is nothing to do: an account that is not confirmed\nwithin three days is closed.',
  );

/** To the owner of an account that has just been verified, or was made by an operator. */
export const welcomeLetter = (link: string): Letter =>
  letter(
    'welcome',
    'Welcome to Trunkline: choose your password',
    'your account is ready. Choose the password you will log in with; the link is\ngood for one hour:',
    link,
    'If it is too late by then, ask for another one at /auth/password-forgot, or\nask whoever runs this installation.',
  );

/** To an agent who forgot the password. */
export const passwordLetter = (link: string): Letter =>
  letter(
    'password',
    'Choose a new password',
    'you asked for a new password for your Trunkline login. Choose it here within\none hour:',
    link,
    'If you did not ask, you can throw this letter away: your password stays as\nit is.',
  );

/** To the owner of a frozen account: until when it can come back, and how. */
export const goodbyeLetter = (effective: Timestamp): Letter =>
  letter(
    'goodbye',
    'Your account is closed and will be deleted',
    `your Trunkline account is closed, as was asked for. Its calls have ended, and\non ${day(effective)} everything in it will be deleted for good.`,
    'Did you change your mind? Until then you can have it back as it was: log in\nas before and send DELETE /auth/unregister with your token or accesskey.',
    'Thank you for having been here.',
  );

/** To whoever owned an account that is gone. */
export const deletedLetter = (): Letter =>
  letter(
    'deleted',
    'Your account is deleted',
    'your Trunkline account and everything in it is deleted now. It cannot be\nbrought back, and this is the last letter we send to this address.',
    'Thank you for having been here.',
  );
