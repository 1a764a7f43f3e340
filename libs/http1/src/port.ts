/** Returns the port of an http or https URL. Without a port in the URL it is 80 or 443. */
export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
