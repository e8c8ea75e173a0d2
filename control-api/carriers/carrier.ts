/** A number that a carrier would sell (accounts-and-plumbing 15.4). */
export interface OfferedNumber {
  number: string;
  country: string;
  region: string;
  postal_code: string;
  features: ('emergency' | 'fax' | 'mms' | 'sms' | 'voice')[];
}

/** A SIP connection that a carrier made for us (22, setup). */
export interface CarrierConnection {
  /** What the carrier calls it. */
  reference: string;
  hostname: string;
  username: string;
  password: string;
  tech_prefix: string;
}

/**
 * Whoever sells numbers and connections to the telephone network. Every method rejects with PlatformError:
 * SERVICE_UNAVAILABLE when the carrier cannot be reached or does not do it, CARRIER_CREDENTIALS_REJECTED for a key it
 * does not take.
 */
export interface Carrier {
  /** Kept with what was ordered there. */
  name: string;
  /** True when numbers are only noted here, because the operator has them already; nobody but a super admin may. */
  manual: boolean;
  /** Numbers of a country (ISO 3166 alpha-2) that could be ordered. */
  offers(country: string, count: number): Promise<OfferedNumber[]>;
  /** Orders a number; the same one twice is one order. Resolves with what the carrier calls it. */
  order(number: string): Promise<string>;
  /** Gives a number back; one that is gone already is as good. */
  release(number: string, reference: string): Promise<void>;
  /** Makes a connection with a key of the carrier's customer. */
  connect(apiKey: string, name: string): Promise<CarrierConnection>;
  disconnect(apiKey: string, reference: string): Promise<void>;
}
