/**
 * What we tell every far end of ourselves (RFC 3261 sections 20.5 and 20.37): phones show no transfer key without REFER in
 * Allow (RFC 3515) and replaces in Supported (RFC 3891). norefersub: a REFER may forbid our NOTIFYs (RFC 4488).
 */
export const CAPABILITIES = {
  Allow: 'INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, NOTIFY, SUBSCRIBE, REFER',
  Supported: 'replaces, norefersub',
};
