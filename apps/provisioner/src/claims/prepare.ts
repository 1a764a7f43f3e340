import { messageOf } from '@csi-sidecars/base'
import type {
  CreateVolumeRequest,
  TopologyRequirement,
  VolumeCapability,
  VolumeContentSource,
} from '@csi-sidecars/csi-proto'
import { namespacedRef, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import type { ProvisionerClaim, WantedVolume } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { ProvisionError } from '../request/failure.ts'
import { classForDriver, isMigrated } from '../request/migration.ts'
import {
  capabilitiesOf,
  createVolumeRequest,
  deprecations,
  driverParameters,
  fsTypeOf,
  volumeNameOf,
} from '../request/request.ts'
import { type SecretRefs, secretRefOf, secretRefsOf, secretValues } from '../request/secrets.ts'
import { sourceOf } from '../sources/data-source.ts'
import { requirementOf, topologyRules } from '../topology/requirement.ts'
import { type ContentSourceParts, contentSource } from './content.ts'
import type { ClaimRun } from './run.ts'

/** A CreateVolume request, and the data that turn its response into a PersistentVolume. */
export interface Prepared {
  readonly claim: ProvisionerClaim
  /** The StorageClass as stored, before the translation of an in-tree class. */
  readonly class: Class
  readonly request: CreateVolumeRequest
  readonly fsType: string
  readonly refs: SecretRefs
  readonly capabilities: readonly VolumeCapability[]
  /** True if the class belongs to the in-tree plugin that is migrated to the driver. */
  readonly migrated: boolean
}

/** Builds the CreateVolume request. The order of the checks decides which error users see. Throws ProvisionError. */
export async function prepare(run: ClaimRun, claim: ProvisionerClaim, ofClaim: Class): Promise<Prepared> {
  const { deps, signal, log } = run
  const { settings, driver } = deps
  const { wanted } = claim
  if (wanted === undefined) throw new ProvisionError(`the claim ${claim.key} is bound`)
  const source = sourceOf(claim)
  const storageClass = classForDriver(ofClaim, settings.names)
  driver.require({
    snapshot: source?.kind === 'VolumeSnapshot',
    clone: source?.kind === 'PersistentVolumeClaim',
    modify: settings.attributesClasses && wanted.attributesClass !== '',
  })
  if (wanted.hasSelector) throw new ProvisionError('claim Selector is not supported')
  const name = volumeNameOf(claim.uid, settings)
  for (const warning of deprecations(storageClass.parameters)) log.warn(warning, UNQUOTED)
  const fsType = fsTypeOf(storageClass.parameters, settings.defaultFsType)
  const { singleNodeMultiWriter } = driver
  const capabilities = capabilitiesOf(wanted, storageClass, { fsType, singleNodeMultiWriter })
  const content = source && (await contentOf(run, { claim, class: storageClass, source }))
  const topology = topologyOf(run, claim, storageClass)
  const { annotations } = wanted
  const { namespace, name: claimName } = namespacedRef(claim.key)
  const tokens = { volume: name, namespace, claim: claimName, annotations }
  const provisioner = secretRefOf('provisioner', storageClass.parameters, tokens)
  const secrets = await secretValues(deps.api, provisioner, signal)
  const refs = secretRefsOf(storageClass.parameters, tokens)
  const parameters = driverParameters(storageClass.parameters)
  const request = createVolumeRequest({
    claim,
    name,
    parameters,
    capabilities,
    source: content,
    topology,
    secrets,
    extraMetadata: settings.extraMetadata,
    mutableParameters: await mutableParameters(run, wanted),
  })
  const migrated = isMigrated(ofClaim, settings.names)
  return { claim, class: ofClaim, request, fsType, refs, capabilities, migrated }
}

/** Returns the data source. A repeated CreateVolume call keeps the source of the first call, even if it is deleted. */
async function contentOf(run: ClaimRun, parts: ContentSourceParts): Promise<VolumeContentSource> {
  return run.deps.memory.inProgress.get(parts.claim.uid)?.content ?? (await contentSource(run, parts))
}

/** Returns the required topology. Undefined if the driver has no topology or the volume may be anywhere. */
function topologyOf({ deps }: ClaimRun, claim: ProvisionerClaim, storageClass: Class): TopologyRequirement | undefined {
  const { topology, settings, memory } = deps
  if (topology === undefined) return undefined
  const rules = topologyRules(claim, storageClass, settings)
  const ofClass = `${storageClass.uid} ${JSON.stringify(storageClass.allowedTopologies)}`
  const tried = { node: rules.node, ofClass, inProgress: memory.inProgress.has(claim.uid) }
  return memory.pins.requirement(claim.uid, tried, () => requirementOf(rules, topology))
}

async function mutableParameters(
  { deps, signal }: ClaimRun,
  { attributesClass }: WantedVolume,
): Promise<Readonly<Record<string, string>>> {
  const { api, settings } = deps
  if (!settings.attributesClasses || attributesClass === '') return {}
  const waitsFor = [{ on: 'attributesClass', name: attributesClass }]
  const found = await api
    .get(VOLUME_ATTRIBUTES_CLASSES, { name: attributesClass }, { signal })
    .catch((cause: unknown) => {
      signal.throwIfAborted()
      throw new ProvisionError(messageOf(cause), { cause, waitsFor })
    })
  if (found.driverName === settings.names.driver) return found.parameters ?? {}
  const mismatch = `is for driver ${found.driverName} which does not match driver name ${settings.names.driver}`
  throw new ProvisionError(`VAC ${attributesClass} referenced in PVC ${mismatch}`, { waitsFor })
}
