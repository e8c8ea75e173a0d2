/** The owner of the routes that every customer falls back on (accounts-and-plumbing 9.3, 23). It is no customer. */
export const DEFAULT_ROUTES_OWNER = '00000000-0000-0000-0000-000000000001';

export const HEALTH_STATUSES = ['unknown', 'healthy', 'unhealthy'] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** JSON under `keys.carrierHealth(id)`: what the latest OPTIONS to a provider found. */
export interface CarrierHealth {
  health_status: HealthStatus;
  health_checked_at: string;
  /** The hostname that was asked: another one is unknown again. */
  hostname: string;
}

/** What may stand around a dialled number: characters that neither end nor split the user part of a SIP URI. */
export const TECH_AFFIX = /^[\w*#+.;=-]{0,64}$/;
