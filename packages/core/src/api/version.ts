/** Raised whenever a client of one number cannot talk to an engine of another. */
export const API_VERSION = 1;

/** The release that client and engine belong to. */
export const DROVER_VERSION = '0.1.0';

/** Request and answer header that carries {@link API_VERSION}. */
export const API_HEADER = 'drover-api';
