import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Container, Deployment } from '@csi-sidecars/kube-types'
import { KNOWN_SIDECARS, type SidecarName } from '../plan/sidecars.ts'
import { deployment } from './workloads.ts'

/** A driver in charts/tests/public-drivers.json. */
export interface PublicDriver {
  readonly name: string
  readonly sidecars: Readonly<Partial<Record<SidecarName, readonly string[]>>>
  readonly remains: readonly string[]
}

export const PUBLIC_DRIVERS: readonly PublicDriver[] = JSON.parse(
  readFileSync(new URL('../../../../charts/tests/public-drivers.json', import.meta.url), 'utf8'),
)

const DEFAULT_ADDRESS = '/run/csi/socket'

/**
 * Returns the smallest Deployment with the command lines of a driver. A pod with a sidecar several times has several
 * drivers, so each copy has a socket of its own.
 */
export function deploymentOf({ sidecars, remains }: PublicDriver): Deployment {
  const lines = Object.entries(sidecars).flatMap(([sidecar, all]) =>
    all.map((line, copy) => ({ sidecar: sidecar as SidecarName, line, copy })),
  )
  const [first] = lines.map(({ line }) => addressIn(line))
  const containers = lines.map((each) => sidecarContainer(each))
  const others = remains.map((name): Container => {
    const image = `registry.k8s.io/sig-storage/${name === 'external-health-monitor-controller' ? `csi-${name}` : name}:v2.20.0`
    return { name, image, args: [`--csi-address=${first}`], volumeMounts: [mountOf(first ?? DEFAULT_ADDRESS, 0)] }
  })
  const driver = {
    name: 'driver',
    image: 'example.com/driver:v1',
    volumeMounts: [mountOf(first ?? DEFAULT_ADDRESS, 0)],
  }
  return deployment([driver, ...containers, ...others])
}

interface SidecarLine {
  readonly sidecar: SidecarName
  readonly line: string
  readonly copy: number
}

function sidecarContainer({ sidecar, line, copy }: SidecarLine): Container {
  const { image, replaces } = KNOWN_SIDECARS[sidecar]
  return {
    name: `${image}-${copy}`,
    image: `registry.k8s.io/sig-storage/${image}:${replaces}`,
    args: line.split(' ').filter(Boolean),
    volumeMounts: [mountOf(addressIn(line), copy)],
    resources: { requests: { cpu: '10m' } },
  }
}

function addressIn(line: string): string {
  const [, address = DEFAULT_ADDRESS] = /--?csi-address[= ](\S+)/.exec(line) ?? []
  return address.replace(/^unix:\/\//, '')
}

function mountOf(address: string, copy: number): { readonly name: string; readonly mountPath: string } {
  return { name: `socket-${copy}`, mountPath: dirname(address) }
}
