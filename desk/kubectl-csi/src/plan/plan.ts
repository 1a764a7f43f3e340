import { isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import type { StorageClass, VolumeSnapshotClass } from '@csi-sidecars/kube-types'
import { OLDEST_EXAMINED } from '../swap-changes/index.ts'
import { commandOf, startsThroughShell, variablesOf } from './containers/command.ts'
import { type Identity, identityOf } from './containers/identity.ts'
import { placeKey, type SocketPlace, socketPlace } from './containers/socket.ts'
import type { PlanFinding } from './finding.ts'
import { argumentsOf } from './flags/arguments.ts'
import { changesSince, isWorthKeeping, keepingArguments } from './flags/changes.ts'
import { type CheckedFlags, checkFlags, type EffectiveFlags, effectiveFlags, tableOf } from './flags/check-flags.ts'
import { type HelmRelease, helmReleaseOf } from './patches/helm.ts'
import { imagesPatch, type SwappedContainer } from './patches/images.ts'
import type { PatchPair } from './patches/json-patch.ts'
import { type CombinedContainer, oneProcessPatch } from './patches/one-process.ts'
import { podFindings, runsAsNonRoot, sizedResources } from './pod.ts'
import { type ContainerToMerge, mergeContainers } from './process/merge-containers.ts'
import type { GrantedRule } from './rights/granted.ts'
import { rightsFindings } from './rights-findings.ts'
import { COMBINED, KNOWN_SIDECARS, type SidecarName } from './sidecars.ts'
import { type PlacedContainer, runningContainers, type Workload } from './workload.ts'

/** Everything that a plan is made of. */
export interface PlanFacts {
  readonly workload: Workload
  /** The rules of all roles that are bound to the service account, or the reason why they are not known. */
  readonly granted: readonly GrantedRule[] | { readonly why: string }
  /** The name of the CSI driver. Undefined if it is not known. */
  readonly driverName: string | undefined
  readonly storageClasses: readonly StorageClass[]
  readonly snapshotClasses: readonly VolumeSnapshotClass[]
  /** The version of the API server, such as `1.36`. */
  readonly kubernetes: string | undefined
  /** Objects and kinds that could not be read. */
  readonly notRead: readonly { readonly what: string; readonly why: string }[]
}

/** The place and the version of our images. */
export interface OurImages {
  /** The registry and the folder, such as `ghcr.io/csi-sidecars`. */
  readonly registry: string
  readonly version: string
}

/** A container of the pod template, as the plan sees it. */
export interface PlannedContainer {
  readonly name: string
  readonly image: string
  readonly identity: Identity
  /** The checked command line. Undefined if the container is not swapped. */
  readonly flags: CheckedFlags | undefined
  /** Arguments that the patches add to keep the older behaviour. */
  readonly added: readonly string[]
  /** Our image. Undefined if the container keeps its image. */
  readonly swappedTo: string | undefined
}

/** The answer of `kubectl csi plan` for one workload. */
export interface SwapPlan {
  readonly workload: Workload
  readonly driverName: string | undefined
  readonly containers: readonly PlannedContainer[]
  readonly findings: readonly PlanFinding[]
  readonly helm: HelmRelease | undefined
  readonly toImages: PatchPair | undefined
  readonly toOneProcess: PatchPair | undefined
}

/** A container with everything that the plan knows of it. */
export interface Examined {
  readonly place: PlacedContainer
  readonly planned: PlannedContainer
  readonly findings: readonly PlanFinding[]
  /** The socket of the driver. Undefined if the container is not a sidecar with known flags. */
  readonly socket: SocketPlace | undefined
  readonly swap: Swap | undefined
}

/** The swap of one sidecar. */
export interface Swap {
  readonly sidecar: SidecarName
  /** The effective flags after the swap. */
  readonly effective: EffectiveFlags
  /** The command line after the swap, word by word. */
  readonly args: readonly string[]
  /** Undefined for a sidecar that only the combined process contains. */
  readonly image: string | undefined
  /** The fields that change in addition to the image. */
  readonly fields: SwappedContainer['fields']
}

/** Returns the plan of the swap. Pure. */
export function planOf(facts: PlanFacts, images: OurImages): SwapPlan {
  const { workload } = facts
  const examined = runningContainers(workload.pod).map((place) => examine(place, facts, images))
  const swapped = examined.filter((each): each is Swappable => each.swap !== undefined)
  const imageSwaps = swapped.flatMap(({ place, swap }) =>
    swap.image === undefined ? [] : [{ place, image: swap.image, fields: swap.fields }],
  )
  const merged = mergeByDriver(swapped, facts, images)
  const findings = [
    ...facts.notRead.map((each) => ({ kind: 'notRead', ...each }) as const),
    ...(workload.owner === undefined ? [] : [{ kind: 'writtenByOperator', owner: workload.owner } as const]),
    ...examined.flatMap((each) => each.findings),
    ...podFindings(workload.pod, examined),
    ...rightsFindings(
      swapped.map(({ swap }) => swap),
      facts,
    ),
    ...merged.findings,
  ]
  return {
    workload,
    driverName: facts.driverName,
    containers: examined.map(({ planned }) => planned),
    findings,
    helm: helmReleaseOf(workload),
    toImages: imageSwaps.length === 0 ? undefined : imagesPatch(workload, imageSwaps),
    toOneProcess: merged.combined.length === 0 ? undefined : oneProcessPatch(workload, merged.combined),
  }
}

type Swappable = Examined & { readonly swap: Swap }

function examine(place: PlacedContainer, facts: PlanFacts, images: OurImages): Examined {
  const { container } = place
  const { name, image = '' } = container
  const command = commandOf(container)
  const identity = identityOf(container, command, images.registry)
  const planned = { name, image, identity, flags: undefined, added: [], swappedTo: undefined }
  const stays = (...findings: readonly PlanFinding[]): Examined => ({
    place,
    planned,
    findings,
    socket: undefined,
    swap: undefined,
  })
  switch (identity.kind) {
    case 'other':
      return stays()
    case 'ours':
      return stays({ kind: 'alreadyOurs', container: name, program: identity.program })
    case 'remaining':
      return stays({ kind: 'remainsGo', container: name, program: identity.program })
    case 'unknown':
      return stays({ kind: 'unknownImage', container: name, image, looksLike: identity.looksLike })
    case 'fork':
      return stays({ kind: 'fork', container: name, image, sidecar: identity.sidecar, why: identity.why })
    case 'sidecar':
      if (startsThroughShell(command)) {
        return stays({ kind: 'otherStarter', container: name, program: command.program ?? '' })
      }
      return examineSidecar(place, identity, { facts, images })
    default:
      return identity satisfies never
  }
}

function examineSidecar(
  place: PlacedContainer,
  identity: Identity & { readonly kind: 'sidecar' },
  { facts, images }: { readonly facts: PlanFacts; readonly images: OurImages },
): Examined {
  const { container } = place
  const { name, image = '' } = container
  const { sidecar, version } = identity
  const knownSidecar = KNOWN_SIDECARS[sidecar]
  const command = commandOf(container)
  const variables = variablesOf(container)
  const flags = checkFlags(knownSidecar, command.args, variables)
  const effective = effectiveFlags(flags.flags, variables)
  const names = argumentsOf(command.args, { table: tableOf(knownSidecar), syntax: knownSidecar.syntax })
  const { changes } = changesSince(sidecar, version, {
    flags: new Set(
      names.flatMap((each) => {
        if (each.kind === 'flag') return [each.flag.name]
        return 'name' in each ? [each.name] : []
      }),
    ),
    gates: effective.gates,
    ...(facts.driverName !== undefined && { migrated: isMigratedCSIDriverByName(facts.driverName) }),
    ...(facts.kubernetes !== undefined && { kubernetes: facts.kubernetes }),
  })
  // Without a version the older behaviour is not known: an argument could turn a protection off.
  const added = version === undefined ? [] : keepingArguments(changes)
  const args = [...flags.accepted, ...added]
  const socket = socketPlace(effective.values.get('csi-address') ?? '/run/csi/socket', container)
  const nonRoot = runsAsNonRoot(facts.workload.pod, container)
  const ourImage =
    knownSidecar.image === undefined
      ? undefined
      : `${images.registry}/${knownSidecar.image}:${images.version}${nonRoot ? '-nonroot' : ''}`
  const checked = checkFlags(knownSidecar, args, variables)
  const swap: Swap = {
    sidecar,
    effective: effectiveFlags(checked.flags, variables),
    args,
    image: ourImage,
    fields: changedFields(container, {
      args,
      image: knownSidecar.image,
      isChanged: flags.refused.length + added.length > 0,
    }),
  }
  return {
    place,
    planned: { name, image, identity, flags, added, swappedTo: ourImage },
    findings: [
      ...identityFindings(name, image, identity),
      ...flags.refused.map((each) => ({ kind: 'refusedFlag', container: name, ...each }) as const),
      ...flags.warned.map((each) => ({ kind: 'warnedFlag', container: name, ...each }) as const),
      ...changes.map(({ change, untested }) => {
        return {
          kind: 'change',
          container: name,
          change,
          untested,
          isKept: version !== undefined && isWorthKeeping(change),
        } as const
      }),
      ...fipsFindings(name, variables.get('GODEBUG')),
      ...(nonRoot && ourImage !== undefined ? [{ kind: 'nonRootImage', container: name } as const] : []),
    ],
    socket,
    swap,
  }
}

function identityFindings(
  container: string,
  image: string,
  { sidecar, version, copiedTo }: Identity & { readonly kind: 'sidecar' },
): readonly PlanFinding[] {
  const oldest = OLDEST_EXAMINED[sidecar]
  const isOlder = version !== undefined && !changesSince(sidecar, version, {}).isComplete
  return [
    ...(copiedTo === undefined ? [] : [{ kind: 'copy', container, registry: copiedTo } as const]),
    ...(version === undefined ? [{ kind: 'unknownVersion', container, image } as const] : []),
    ...(isOlder ? [{ kind: 'notExamined', container, version, oldest } as const] : []),
    ...(sidecar === 'livenessprobe' ? [{ kind: 'livenessprobe', container } as const] : []),
  ]
}

function fipsFindings(container: string, value: string | undefined): readonly PlanFinding[] {
  return value?.includes('fips140') === true ? [{ kind: 'fipsVariable', container, value }] : []
}

/** Returns the fields that must change with the image. Everything else stays as it is. */
function changedFields(
  container: PlacedContainer['container'],
  {
    args,
    image,
    isChanged,
  }: { readonly args: readonly string[]; readonly image: string | undefined; readonly isChanged: boolean },
): Swap['fields'] {
  const resources = sizedResources(container.resources)
  const sized = resources === undefined ? {} : { resources }
  const [program] = container.command ?? []
  // Our image starts its program itself, at another path than some images of vendors.
  const startsOther = program !== undefined && program !== `/${image}` && program !== image
  if (startsOther || (isChanged && program !== undefined)) return { ...sized, command: undefined, args }
  return isChanged ? { ...sized, args } : sized
}

interface MergeResult {
  readonly combined: readonly CombinedContainer[]
  readonly findings: readonly PlanFinding[]
}

/** Merges the sidecars of each driver. A pod may have several drivers, each with its socket. */
function mergeByDriver(swapped: readonly Swappable[], { workload }: PlanFacts, images: OurImages): MergeResult {
  const groups = new Map<string, Swappable[]>()
  for (const each of swapped) {
    const key = `${each.place.list} ${each.socket === undefined ? '' : placeKey(each.socket)}`
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  const combined: CombinedContainer[] = []
  const findings: PlanFinding[] = []
  for (const group of groups.values()) {
    const containers = group.map(({ place }) => place.container.name)
    const refuse = (why: string): void => void findings.push({ kind: 'notOneProcess', containers, why })
    const sidecars = group.map(({ swap }) => swap.sidecar)
    if (group.length < 2) {
      refuse('only one sidecar uses this socket')
      continue
    }
    if (new Set(sidecars).size < sidecars.length) {
      refuse('the pod has a sidecar twice for the same socket')
      continue
    }
    if (sidecars.every((sidecar) => sidecar === 'livenessprobe')) continue
    const toMerge = group.map(
      ({ place, swap, socket }): ContainerToMerge => ({
        sidecar: swap.sidecar,
        container: place.container,
        args: swap.args,
        socketVolume: socket?.volume,
      }),
    )
    const nonRoot = group.every(({ place }) => runsAsNonRoot(workload.pod, place.container))
    const image = `${images.registry}/${COMBINED}:${images.version}${nonRoot ? '-nonroot' : ''}`
    const name = combined.length === 0 ? COMBINED : `${COMBINED}-${combined.length + 1}`
    const merged = mergeContainers(toMerge, { image, name })
    if (merged.kind === 'refused') {
      refuse(merged.why)
      continue
    }
    combined.push({ places: group.map(({ place }) => place), container: merged.container })
    for (const note of merged.notes) findings.push({ kind: 'mergedSetting', container: name, note })
    if (sidecars.includes('livenessprobe')) findings.push({ kind: 'livenessInProcess', container: name })
  }
  return { combined, findings }
}
