import { type Container, Quantity } from '@csi-sidecars/kube-types'
import type { PlanFinding } from './finding.ts'
import type { PodSpec } from './workload.ts'

/** The least limits of our sidecars: docs/operations.md, "Sizing". */
const MIN_MEMORY = Quantity.parse('80Mi')
const MIN_CPU = Quantity.parse('100m')
/** The limit of our chart for one sidecar. */
const MEMORY_LIMIT = '256Mi'

type Resources = NonNullable<Container['resources']>

/** Returns the resources with limits that our sidecars can work with. Undefined if the limits are high enough. */
export function sizedResources(resources: Container['resources']): Resources | undefined {
  const { memory, cpu } = lowLimits(resources)
  if (memory === undefined && cpu === undefined) return undefined
  const { cpu: cpuLimit, memory: memoryLimit, ...others } = resources?.limits ?? {}
  const limits = {
    ...others,
    ...(cpuLimit !== undefined && { cpu: cpu === undefined ? cpuLimit : MIN_CPU.toString() }),
    ...(memoryLimit !== undefined && { memory: memory === undefined ? memoryLimit : MEMORY_LIMIT }),
  }
  return { ...resources, limits }
}

function lowLimits(resources: Container['resources']): { readonly memory?: string; readonly cpu?: string } {
  const { memory, cpu } = resources?.limits ?? {}
  const isLow = (limit: string | undefined, least: Quantity): boolean => {
    const quantity = limit === undefined ? undefined : Quantity.tryParse(limit)
    return quantity !== undefined && quantity.compare(least) < 0
  }
  return {
    ...(memory !== undefined && isLow(memory, MIN_MEMORY) && { memory }),
    ...(cpu !== undefined && isLow(cpu, MIN_CPU) && { cpu }),
  }
}

/** Reports whether the kubelet refuses to start the container as root, although no user is named. */
export function runsAsNonRoot({ securityContext: ofPod }: PodSpec, { securityContext }: Container): boolean {
  const user = securityContext?.runAsUser ?? ofPod?.runAsUser
  return user === undefined && (securityContext?.runAsNonRoot ?? ofPod?.runAsNonRoot) === true
}

/** The part of an examined container that the findings about the pod need. */
interface ContainerInPod {
  readonly place: { readonly container: Container }
  readonly planned: { readonly identity: { readonly kind: string } }
  readonly socket: { readonly volume: string | undefined } | undefined
  readonly swap: { readonly image: string | undefined } | undefined
}

/** Returns the findings about limits, SELinux and the owner of the socket. */
export function podFindings(pod: PodSpec, examined: readonly ContainerInPod[]): readonly PlanFinding[] {
  return examined.flatMap(({ place: { container }, socket, swap }): readonly PlanFinding[] => {
    if (swap === undefined) return []
    const drivers = examined
      .filter(({ planned }) => planned.identity.kind === 'other')
      .filter(({ place }) => place.container.volumeMounts?.some(({ name }) => name === socket?.volume) === true)
    return [
      ...(swap.image === undefined ? [] : limitFindings(container)),
      ...drivers.flatMap(({ place }) => driverFindings(pod, container, place.container)),
    ]
  })
}

function limitFindings({ name, resources }: Container): readonly PlanFinding[] {
  const { memory, cpu } = lowLimits(resources)
  return [
    ...(memory === undefined
      ? []
      : [{ kind: 'lowLimit', container: name, resource: 'memory', limit: memory } as const]),
    ...(cpu === undefined ? [] : [{ kind: 'lowLimit', container: name, resource: 'cpu', limit: cpu } as const]),
  ]
}

function driverFindings(pod: PodSpec, sidecar: Container, driver: Container): readonly PlanFinding[] {
  const names = { container: sidecar.name, driver: driver.name }
  const user = userOf(pod, sidecar)
  const driverUser = userOf(pod, driver) ?? 0
  return [
    ...(isUnconfined(pod, driver) && !isUnconfined(pod, sidecar) ? [{ kind: 'seLinux', ...names } as const] : []),
    ...(user !== undefined && user !== 0 && user !== driverUser
      ? [{ kind: 'socketOwner', ...names, user } as const]
      : []),
  ]
}

/** Reports whether SELinux lets the container do everything: a confined container cannot connect to its socket. */
function isUnconfined({ securityContext: ofPod }: PodSpec, { securityContext }: Container): boolean {
  const type = securityContext?.seLinuxOptions?.type ?? ofPod?.seLinuxOptions?.type
  return securityContext?.privileged === true || type === 'spc_t'
}

/** Returns the user of a container. Undefined: the user of its image. */
function userOf({ securityContext: ofPod }: PodSpec, { securityContext }: Container): number | undefined {
  return securityContext?.runAsUser ?? ofPod?.runAsUser
}
