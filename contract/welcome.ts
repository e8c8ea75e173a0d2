/** The facts of the first start, for scripts: what control-api writes to `DATA_DIR/welcome.json` (mode 0600). */
export interface Welcome {
  /** With /v1.0. */
  base_url: string;
  username: string;
  password: string;
  accesskey: string;
  extensions: { id: string; extension: string; username: string; password: string; domain_name: string }[];
  /** The virtual number that runs the welcome flow. */
  number: string;
  customer_id: string;
  flow_id: string;
}
