/** RFC 3339 in whole seconds, as every timestamp of an object but a Lease's. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** RFC 3339 with six fraction digits, as in Leases: the API server refuses three. */
export function rfc3339Micro(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
