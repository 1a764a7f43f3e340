/** The first minor version of Kubernetes 1.x with a kind (by its plural), a field or a query, without a feature gate. */
const SINCE: Readonly<Record<string, number>> = { volumeattributesclasses: 34, errorCode: 34, sendInitialEvents: 34 }

/** Ends a test that needs a newer Kubernetes than the one that it runs on. */
export class NotInThisRelease extends Error {
  override readonly name = 'NotInThisRelease'
}

/** Throws for a kind or a field that the API server does not have. */
export function requireInRelease(what: string, minor: number): void {
  const since = SINCE[what] ?? 0
  if (minor < since) throw new NotInThisRelease(`Kubernetes 1.${minor} has no ${what}: it is there since 1.${since}`)
}
