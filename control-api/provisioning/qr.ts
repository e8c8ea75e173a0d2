import QRCode from 'qrcode';
import { escapeHtml } from '../http/page.ts';

/** The quiet zone that ISO/IEC 18004 asks for, in modules. */
const MARGIN = 4;

/** A text as a QR code, drawn in SVG, with a label for those who do not see it. */
export const qrSvg = async (text: string, label: string): Promise<string> => {
  const svg = await QRCode.toString(text, { type: 'svg', margin: MARGIN });
  return svg.replace('<svg ', `<svg role="img" aria-label="${escapeHtml(label)}" `);
};

/** A text as a QR code in a PNG file, eight pixels a module. */
export const qrPng = (text: string): Promise<Buffer> =>
  QRCode.toBuffer(text, { type: 'png', margin: MARGIN, scale: 8 });
