import { isDeepStrictEqual } from 'node:util'
import type { Container } from '@csi-sidecars/kube-types'
import { commandOf, expanded, variablesIn, variablesOf } from '../containers/command.ts'
import { type AcceptedFlag, checkFlags } from '../flags/check-flags.ts'
import { COMBINED, inOrder, KNOWN_SIDECARS, type SidecarName } from '../sidecars.ts'
import { mergeFlags } from './merge-flags.ts'

/** A container that becomes a part of the one process. */
export interface ContainerToMerge {
  readonly sidecar: SidecarName
  readonly container: Container
  /** Its accepted command line, word by word, with the arguments that keep the behaviour of its version. */
  readonly args: readonly string[]
  /** The volume in which the container finds the socket of the driver. */
  readonly socketVolume: string | undefined
}

export type MergedContainer =
  | { readonly kind: 'merged'; readonly container: Container; readonly notes: readonly string[] }
  | { readonly kind: 'refused'; readonly why: string }

/** The resources of the chart for one process. The sum of the containers would be four times as much. */
const RESOURCES = { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '384Mi' } } as const

/** Returns the container that runs the sidecars of all containers. */
export function mergeContainers(
  containers: readonly ContainerToMerge[],
  { image, name = COMBINED }: { readonly image: string; readonly name?: string },
): MergedContainer {
  const order = inOrder(containers.map(({ sidecar }) => sidecar))
  const ordered = order.flatMap((sidecar) => containers.filter((each) => each.sidecar === sidecar))
  const [base] = ordered
  if (base === undefined) return { kind: 'refused', why: 'there is no container to merge' }
  const flags = mergeFlags(ordered.map((part) => ({ sidecar: part.sidecar, flags: literalFlags(part) })))
  if (flags.kind === 'refused') return flags
  const env = mergedEnv(ordered, new Set(flags.args.flatMap(variablesIn)))
  if (typeof env === 'string') return { kind: 'refused', why: env }
  const mounts = mergedMounts(ordered, base)
  if (typeof mounts === 'string') return { kind: 'refused', why: mounts }
  const envFrom = distinct(ordered.flatMap(({ container }) => container.envFrom ?? []))
  const { ports, probes, notes } = mergedEndpoints(ordered)
  const security = ordered.map(({ container }) => container.securityContext)
  const chosen = widestOf(security)
  const hasResources = ordered.some(({ container }) => Object.keys(container.resources ?? {}).length > 0)
  const { imagePullPolicy, terminationMessagePath, restartPolicy } = base.container
  const container: Container = {
    name,
    image,
    ...present({ imagePullPolicy, restartPolicy }),
    args: flags.args,
    ...(env.length > 0 && { env }),
    ...(envFrom.length > 0 && { envFrom }),
    ...(ports.length > 0 && { ports }),
    ...probes,
    ...(hasResources && { resources: RESOURCES }),
    ...present({ securityContext: chosen, terminationMessagePath }),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(mounts.length > 0 && { volumeMounts: mounts }),
  }
  const securityNote = security.every((each) => isDeepStrictEqual(each ?? {}, chosen ?? {}))
    ? []
    : ['the securityContext is the widest one of the containers']
  const resourcesNote = hasResources ? ['the resources are those of our chart for one process'] : []
  return { kind: 'merged', container, notes: [...flags.notes, ...notes, ...securityNote, ...resourcesNote] }
}

/** Replaces variables by their values, so that equal names with different values do not conflict. */
function literalFlags({ sidecar, container, args }: ContainerToMerge): readonly AcceptedFlag[] {
  const variables = variablesOf(container)
  const { flags } = checkFlags(KNOWN_SIDECARS[sidecar], args, variables)
  return flags.map((flag) => ({ ...flag, value: expanded(flag.value, variables) ?? flag.value }))
}

/**
 * Returns the variables of all containers without the literal ones that only a command line used. Returns a sentence if
 * two containers need different values.
 */
function mergedEnv(
  containers: readonly ContainerToMerge[],
  needed: ReadonlySet<string>,
): NonNullable<Container['env']> | string {
  const found = new Map<string, NonNullable<Container['env']>[number]>()
  for (const { container } of containers) {
    const usedVariables = new Set(commandOf(container).args.flatMap(variablesIn))
    for (const variable of container.env ?? []) {
      if (variable.valueFrom == null && usedVariables.has(variable.name) && !needed.has(variable.name)) continue
      const before = found.get(variable.name)
      if (before !== undefined && !isDeepStrictEqual(before, variable)) {
        return `the containers have different values of the variable ${variable.name}`
      }
      found.set(variable.name, variable)
    }
  }
  return [...found.values()]
}

/** Returns the mounts of all containers. Only the first container mounts the socket, so that its path is the one given. */
function mergedMounts(
  containers: readonly ContainerToMerge[],
  base: ContainerToMerge,
): NonNullable<Container['volumeMounts']> | string {
  const found = new Map<string, NonNullable<Container['volumeMounts']>[number]>()
  for (const part of containers) {
    for (const mount of part.container.volumeMounts ?? []) {
      if (part !== base && part.socketVolume !== undefined && mount.name === part.socketVolume) continue
      const before = found.get(mount.mountPath)
      if (before !== undefined && !isDeepStrictEqual(before, mount)) {
        return `the containers mount different volumes at ${mount.mountPath}`
      }
      found.set(mount.mountPath, mount)
    }
  }
  return [...found.values()]
}

interface MergedEndpoints {
  readonly ports: NonNullable<Container['ports']>
  readonly probes: Pick<Container, 'livenessProbe' | 'readinessProbe' | 'startupProbe'>
  readonly notes: readonly string[]
}

/** The process listens at one endpoint, that of the first container with one. The livenessprobe keeps its own port. */
function mergedEndpoints(containers: readonly ContainerToMerge[]): MergedEndpoints {
  const controllers = containers.filter(({ sidecar }) => sidecar !== 'livenessprobe')
  const serves = ({ args }: ContainerToMerge, flag: string): boolean =>
    args.some((word) => word.replace(/^--?/, '').split('=')[0] === flag)
  // The process has one kind of endpoint: the flag --http-endpoint takes precedence, as in the merged flags.
  const serving = [
    ...controllers.filter((each) => serves(each, 'http-endpoint')),
    ...controllers.filter((each) => serves(each, 'metrics-address')),
  ]
  const [first, ...others] = serving
  const ownVolumes = containers
    .filter(({ sidecar }) => sidecar === 'livenessprobe')
    .flatMap(({ container }) => container.ports ?? [])
  if (first === undefined) return { ports: ownVolumes, probes: {}, notes: [] }
  const { livenessProbe, readinessProbe, startupProbe } = first.container
  const notes = others.map(
    ({ container }) =>
      `container ${container.name} has no endpoint any longer: its metrics are at the endpoint of ${first.container.name}. Change Services, monitors and NetworkPolicies that name its port`,
  )
  return {
    ports: [...(first.container.ports ?? []), ...ownVolumes],
    probes: present({ livenessProbe, readinessProbe, startupProbe }),
    notes,
  }
}

/** Returns the context with the most rights: privileged, root, the user of the image, any. */
function widestOf(all: readonly Container['securityContext'][]): Container['securityContext'] {
  const [first] = all
  return (
    all.find((each) => each?.privileged === true) ??
    all.find((each) => each?.runAsUser === 0) ??
    (all.some((each) => each?.runAsUser == null) ? all.find((each) => each?.runAsUser == null) : first)
  )
}

function distinct<T>(values: readonly T[]): readonly T[] {
  return values.filter((value, at) => values.findIndex((each) => isDeepStrictEqual(each, value)) === at)
}

/** Returns the fields that are set. */
function present<T extends object>(fields: T): { readonly [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    readonly [K in keyof T]?: NonNullable<T[K]>
  }
}
