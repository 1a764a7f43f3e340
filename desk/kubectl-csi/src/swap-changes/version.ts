/** A version of a Go sidecar: major, minor, patch. */
export type Version = readonly [number, number, number]

/** Returns the version in a text such as `v4.0.1` or the tag of an image. Undefined if the text has no version. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /(?:^|[^\d.])(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?![\d.])/.exec(text) ?? []
  if (major === undefined || minor === undefined) return undefined
  return [Number(major), Number(minor), Number(patch ?? '0')]
}

/** Returns a negative number if the first version is older, and 0 for equal versions. */
export function compareVersions(one: Version, other: Version): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2]
}
