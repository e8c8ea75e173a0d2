import { PICK_UP_TAG } from './replaces.ts';

/** A call of an extension, as far as others may know. */
export interface BusyWith {
  id: string;
  /** `incoming`: the extension calls; `outgoing`: it is called. */
  direction: 'incoming' | 'outgoing';
  status: string;
}

/** What there is to say about an extension. */
export interface Presence {
  /** Its address, `sip:1001@{domain}`. */
  entity: string;
  registered: boolean;
  calls: BusyWith[];
}

/** An event package (RFC 6665): what a phone may subscribe to. */
export interface EventPackage {
  content_type: string;
  /** Whether only the extension itself may know. */
  own: boolean;
  /** @param version how many bodies of the subscription came before */
  body(presence: Presence, version: number): string;
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** The states of a dialog (RFC 4235 section 3.7.1) by those of a call. */
const DIALOG_STATES: Record<string, string> = {
  dialing: 'trying',
  ringing: 'early',
  progressing: 'confirmed',
  canceling: 'early',
  terminating: 'confirmed',
};

/**
 * A phone that rings is told of so that others can pick the call up (RFC 4235 section 4.1.6, RFC 3891): by the id of the call and
 * the same tag at both ends, which are nobody's Call-ID and tags. What is answered cannot be taken away so.
 */
const namesOf = ({ id, direction, status }: BusyWith): string =>
  direction === 'outgoing' && status === 'ringing'
    ? ` call-id="${id}" local-tag="${PICK_UP_TAG}" remote-tag="${PICK_UP_TAG}"`
    : '';

const dialogOf = (call: BusyWith): string =>
  `  <dialog id="${call.id}"${namesOf(call)} direction="${call.direction === 'incoming' ? 'initiator' : 'recipient'}">` +
  `<state>${DIALOG_STATES[call.status] ?? 'trying'}</state></dialog>\n`;

/** Who keeps no messages has none waiting (RFC 3842 section 5.2). */
const messageSummary: EventPackage = {
  content_type: 'application/simple-message-summary',
  own: true,
  body: ({ entity }) => `Messages-Waiting: no\r\nMessage-Account: ${entity}\r\nVoice-Message: 0/0 (0/0)\r\n`,
};

/** RFC 3856 and RFC 3863: reachable or not, and on the phone (RFC 4480). */
const presence: EventPackage = {
  content_type: 'application/pidf+xml',
  own: false,
  body: ({ entity, registered, calls }) =>
    `${XML}<presence xmlns="urn:ietf:params:xml:ns:pidf" xmlns:dm="urn:ietf:params:xml:ns:pidf:data-model" ` +
    `xmlns:rpid="urn:ietf:params:xml:ns:pidf:rpid" entity="${entity}">\n` +
    `  <tuple id="phone"><status><basic>${registered ? 'open' : 'closed'}</basic></status>` +
    `<contact>${entity}</contact></tuple>\n` +
    `  <dm:person id="person"><rpid:activities>${calls.length ? '<rpid:on-the-phone/>' : ''}</rpid:activities></dm:person>\n` +
    '</presence>\n',
};

/** RFC 4235: every call of the extension, each time all of them. */
const dialog: EventPackage = {
  content_type: 'application/dialog-info+xml',
  own: false,
  body: ({ entity, calls }, version) =>
    `${XML}<dialog-info xmlns="urn:ietf:params:xml:ns:dialog-info" version="${version}" state="full" entity="${entity}">\n` +
    `${calls.map(dialogOf).join('')}</dialog-info>\n`,
};

export const EVENT_PACKAGES: Record<string, EventPackage> = { 'message-summary': messageSummary, presence, dialog };
