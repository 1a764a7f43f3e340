import { messageOf } from '@csi-sidecars/base'
import { namespacedRef, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import type { ProvisionerClaim, RequestedVolume } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { claimParameters } from '../request/claim-parameters.ts'
import { ProvisionError } from '../request/failure.ts'
import { checkAttributesClass, classForDriver, isMigrated } from '../request/migration.ts'
import {
  capabilitiesOf,
  createVolumeRequest,
  deprecations,
  driverParameters,
  fsTypeOf,
  volumeNameOf,
} from '../request/request.ts'
import { secretRefOf, secretRefsOf, secretValues, secretValuesAgain } from '../request/secrets.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'
import { sourceOf } from '../sources/data-source.ts'
import { requirementOf, topologyRules } from '../topology/requirement.ts'
import { prepareContentSource } from './content.ts'
import type { PreparedCreation } from './prepared.ts'
import type { ClaimRun } from './run.ts'

/** Builds the CreateVolume request. The order of the checks decides which error users see. Throws ProvisionError. */
export async function prepare(run: ClaimRun, claim: ProvisionerClaim, classOfClaim: Class): Promise<PreparedCreation> {
  const { deps, signal, log } = run
  const { settings, driver } = deps
  const { requestedVolume } = claim
  if (requestedVolume === undefined) throw new ProvisionError(`the claim ${claim.key} is bound`)
  const source = sourceOf(claim)
  const storageClass = classForDriver(classOfClaim, settings.names)
  driver.require({
    snapshot: source?.kind === 'VolumeSnapshot',
    clone: source?.kind === 'PersistentVolumeClaim',
    modify: settings.attributesClasses && requestedVolume.attributesClass !== '',
  })
  if (requestedVolume.hasSelector) throw new ProvisionError('claim Selector is not supported')
  const migrated = isMigrated(classOfClaim, settings.names)
  if (settings.attributesClasses) checkAttributesClass(requestedVolume.attributesClass, classOfClaim, settings.names)
  const name = volumeNameOf(claim.uid, settings)
  for (const warning of deprecations(storageClass.parameters)) log.warn(warning, UNQUOTED)
  const fsType = fsTypeOf(storageClass.parameters, settings.defaultFsType)
  const { singleNodeMultiWriter } = driver
  const capabilities = capabilitiesOf(requestedVolume, storageClass, { fsType, singleNodeMultiWriter })
  const content = source && (await prepareContentSource(run, { claim, class: storageClass, source }))
  // Undefined if the driver has no topology, or the volume may be anywhere.
  const topology = deps.topology && requirementOf(topologyRules(claim, storageClass, settings), deps.topology)
  const { annotations } = requestedVolume
  const { namespace, name: claimName } = namespacedRef(claim.key)
  const tokens = { volume: name, namespace, claim: claimName, annotations }
  const provisioner = secretRefOf('provisioner', storageClass.parameters, tokens)
  const secrets = await secretValues(deps.api, provisioner, signal)
  const refs = secretRefsOf(storageClass.parameters, tokens)
  const passed = driverParameters(storageClass.parameters)
  const usesRecord = !deps.memory.knowsEndOfCall(claim.uid)
  const { parameters, valuesAnnotation } = settings.parameterTemplates
    ? claimParameters({ parameters: passed, claim, volumeName: name, usesRecord })
    : { parameters: passed, valuesAnnotation: undefined }
  const request = createVolumeRequest({
    claim,
    name,
    parameters,
    capabilities,
    source: content,
    topology,
    secrets,
    extraMetadata: settings.extraMetadata,
    mutableParameters: await mutableParameters(run, requestedVolume),
  })
  return { claim, class: classOfClaim, request, fsType, valuesAnnotation, refs, capabilities, migrated }
}

/** Returns the request of an uncertain call, with the current values of its Secret. */
export async function prepareAgain(
  { deps, signal, log }: ClaimRun,
  prepared: PreparedCreation,
): Promise<PreparedCreation> {
  const { request, refs } = prepared
  const secrets = await secretValuesAgain(deps.api, refs.provisioner, { signal, log, earlier: request.secrets })
  return { ...prepared, request: { ...request, secrets: { ...secrets } } }
}

async function mutableParameters(
  { deps, signal }: ClaimRun,
  { attributesClass }: RequestedVolume,
): Promise<Readonly<Record<string, string>>> {
  const { api, settings } = deps
  if (!settings.attributesClasses || attributesClass === '') return {}
  const waitsFor: readonly ClaimWakeEvent[] = [{ kind: 'attributesClass', name: attributesClass }]
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
