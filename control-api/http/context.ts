import type { Log } from '#process/log';
import type { Rates } from '#contract/billing';
import type { BanReader } from '../bans.ts';
import type { RegistrationReader } from '../registrations.ts';
import type { Carrier } from '../carriers/carrier.ts';
import type { Commands } from '../commands.ts';
import type { Db } from '../db.ts';
import type { Downloads } from '../downloads.ts';
import type { MailDelivery } from '../jobs/mail-delivery.ts';
import type { Sweep } from '../jobs/sweep.ts';
import type { LiveResources } from '../live.ts';
import type { PhoneAccess } from '../provisioning/line.ts';
import type { ProvisioningTokens } from '../provisioning/tokens.ts';
import type { Health } from '../health.ts';
import type { Vault } from '../storage/vault.ts';
import type { Authenticator } from './authenticate.ts';
import type { Idempotency } from './idempotency.ts';
import type { RateLimits } from './rate-limits.ts';

/** What handlers of routes reach: the stores and the media side. Made once, at start. */
export interface Context {
  db: Db;
  commands: Pick<Commands, 'send' | 'tell'>;
  live: LiveResources;
  bans: BanReader;
  registrations: RegistrationReader;
  downloads: Downloads;
  /** The bytes of stored files. */
  vault: Vault;
  storedFiles: Sweep;
  /** Where uploads are received. */
  uploadFolder: string;
  recordingFiles: Sweep;
  /** Sells normal numbers. */
  carrier: Carrier;
  numberReleases: Sweep;
  /** What is charged for what. */
  rates: Rates;
  authenticator: Authenticator;
  limits: RateLimits;
  idempotency: Idempotency;
  /** Sends what is posted. */
  mail: Pick<MailDelivery, 'wake'>;
  /** Tokens with which phones fetch their settings. */
  provisioning: ProvisioningTokens;
  /** Where those phones register. */
  phoneAccess: PhoneAccess;
  /** Where clients reach us, without the version prefix: links in letters begin with it. */
  publicUrl: string;
  /** Signs tokens. */
  tokenSecret: Uint8Array;
  /** What direct tokens must carry; raising it ends all of them. */
  scopeVersion: number;
  /** Domain below which extension domains lie. */
  sipDomain: string;
  health(): Promise<Health>;
  log: Log;
}
