/** The first minor version of Kubernetes that has a resource, a field or a query parameter by default. */
const SINCE: Readonly<Record<string, number>> = { volumeattributesclasses: 34, errorCode: 34, sendInitialEvents: 34 }

/** Thrown by a test that needs a newer version of Kubernetes. */
export class NotInThisRelease extends Error {
  override readonly name = 'NotInThisRelease'
}

/** Throws `NotInThisRelease` if this version of Kubernetes does not have the resource, field or query parameter. */
export function requireInRelease(what: string, minor: number): void {
  const since = SINCE[what] ?? 0
  if (minor < since) throw new NotInThisRelease(`Kubernetes 1.${minor} has no ${what}: it is there since 1.${since}`)
}
