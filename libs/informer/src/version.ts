import { compareResourceVersions } from '@csi-sidecars/kube-types'

interface Versioned {
  readonly resourceVersion: string
}

/** Versions that are no numbers cannot be compared: then what comes later is newer. */
export function isNewer(news: Versioned, known: Versioned): boolean {
  const order = compareResourceVersions(news.resourceVersion, known.resourceVersion)
  return order > 0 || (order === 0 && news.resourceVersion !== known.resourceVersion)
}
