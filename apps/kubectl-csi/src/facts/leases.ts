import type { Lease } from '@csi-sidecars/kube-types'
import { keyOf } from './facts.ts'

export type SidecarName = 'external-attacher' | 'external-resizer'

const PREFIX: Readonly<Record<SidecarName, string>> = {
  'external-attacher': 'external-attacher-leader-',
  'external-resizer': 'external-resizer-',
}

/** The name of a Lease, which both sidecars share with their Go originals. */
export function leaseName(sidecar: SidecarName, driver: string): string {
  const name = `${PREFIX[sidecar]}${driver}`.replace(/[^A-Za-z0-9-]/gu, '-')
  return name.endsWith('-') ? `${name}X` : name
}

export function isOfSidecar({ metadata }: Lease): boolean {
  return Object.values(PREFIX).some((prefix) => metadata?.name?.startsWith(prefix) === true)
}

export function leaseKey({ metadata }: Lease): string {
  return keyOf({ namespace: metadata?.namespace, name: metadata?.name ?? '' })
}
