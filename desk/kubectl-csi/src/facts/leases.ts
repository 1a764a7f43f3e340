import type { Lease } from '@csi-sidecars/kube-types'
import { keyOf } from './facts.ts'

export type OriginalName = 'external-attacher' | 'external-resizer' | 'external-provisioner' | 'external-snapshotter'

const PREFIX: Readonly<Record<OriginalName, string>> = {
  'external-attacher': 'external-attacher-leader-',
  'external-resizer': 'external-resizer-',
  'external-snapshotter': 'external-snapshotter-leader-',
  'external-provisioner': '',
}

/** Returns the name of a sidecar's Lease, which equals the name that the Go sidecar uses. */
export function leaseName(sidecar: OriginalName, driver: string): string {
  const name = `${PREFIX[sidecar]}${driver}`.replace(/[^A-Za-z0-9-]/gu, '-')
  return name.endsWith('-') ? `${name}X` : name
}

/** Reports whether a Lease belongs to a sidecar. The Lease of a provisioner is named like its driver. */
export function isOfSidecar({ metadata }: Lease, drivers: readonly string[]): boolean {
  const { name = '' } = metadata ?? {}
  const isPrefixed = Object.values(PREFIX).some((prefix) => prefix !== '' && name.startsWith(prefix))
  return isPrefixed || drivers.some((driver) => leaseName('external-provisioner', driver) === name)
}

/** Returns the word for the sidecar in names of containers and images, for example `attacher`. */
export function sidecarWord(lease: string): string {
  const found = Object.entries(PREFIX).find(([, prefix]) => prefix !== '' && lease.startsWith(prefix))
  return (found?.[0] ?? 'external-provisioner').replace('external-', '')
}

export function leaseKey({ metadata }: Lease): string {
  return keyOf({ namespace: metadata?.namespace, name: metadata?.name ?? '' })
}
