import { Quantity } from '@csi-sidecars/kube-types'
import type { FieldErrors } from '../http/field-errors.ts'
import {
  at,
  type Json,
  type JsonMap,
  listAt,
  objectAt,
  sameJson,
  textAt,
  withSpec,
  withStatus,
} from '../schema/json.ts'
import { subdomain } from './names.ts'
import type { Strategy } from './strategy.ts'
import { checkSources, sourceOf, sourceWarnings } from './volume-sources.ts'

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
export const VOLUME_MODES = ['Block', 'Filesystem']
const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain']

export const persistentVolume: Strategy = {
  defaults: (object) =>
    withSpec(object, (spec) => ({ persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', ...spec })),
  prepareCreate: (object, now) => ({ ...object, status: { phase: 'Pending', lastPhaseTransitionTime: now } }),
  prepareStatus(object, old, now) {
    const since = at(object, 'status', 'lastPhaseTransitionTime')
    const sameTime = since === undefined || since === at(old, 'status', 'lastPhaseTransitionTime')
    if (at(object, 'status', 'phase') === at(old, 'status', 'phase') || !sameTime) return object
    return withStatus(object, { lastPhaseTransitionTime: now })
  },
  warnings: (object) => sourceWarnings(object['spec']),
  validate: (errors, object) => checkVolumeSpec(errors, { path: 'spec', inline: false }, object['spec']),
  validateUpdate(errors, object, old) {
    if (!sameJson(sourceOf(object['spec'], old['spec']), sourceOf(old['spec'], old['spec']))) {
      errors.forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation')
    }
    errors.unchanged('volumeMode', at(object, 'spec', 'volumeMode'), at(old, 'spec', 'volumeMode'))
    const before = at(old, 'spec', 'volumeAttributesClassName')
    if (before !== undefined && at(object, 'spec', 'volumeAttributesClassName') === undefined) {
      errors.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden')
    }
  },
}

/** Checks the spec of a volume. `inline` is true for a spec in a VolumeAttachment, which may have fewer fields. */
export function checkVolumeSpec(
  errors: FieldErrors,
  { path, inline }: { readonly path: string; readonly inline: boolean },
  spec: Json | undefined,
): void {
  if (inline) checkInlineSpec(errors, path, spec)
  checkAccessModes(errors, { path, whenEmpty: '' }, listAt(spec, 'accessModes'))
  if (!inline) {
    checkCapacity(errors, `${path}.capacity`, objectAt(spec, 'capacity'))
    checkPolicy(errors, path, spec)
  }
  checkSources(errors, path, spec)
  checkCsi(errors, path, spec)
  const attributesClass = at(spec, 'volumeAttributesClassName')
  if (attributesClass === '') errors.required(`${path}.volumeAttributesClassName`, 'an empty string is disallowed')
  else if (typeof attributesClass === 'string') {
    errors.checked(`${path}.volumeAttributesClassName`, attributesClass, subdomain)
  }
  if (attributesClass !== undefined && at(spec, 'csi') === undefined) {
    errors.required(`${path}.csi`, 'has to be specified when using volumeAttributesClassName')
  }
}

function checkInlineSpec(errors: FieldErrors, path: string, spec: Json | undefined): void {
  for (const field of ['claimRef', 'capacity', 'nodeAffinity', 'storageClassName']) {
    const value = at(spec, field)
    if (value === undefined || value === '' || sameJson(value, {})) continue
    errors.forbidden(`${path}.${field}`, 'may not be specified in the context of inline volumes')
  }
  if (at(spec, 'csi') === undefined) {
    errors.required(`${path}.csi`, 'has to be specified in the context of inline volumes')
  }
  const policy = at(spec, 'persistentVolumeReclaimPolicy')
  if (policy !== undefined && policy !== 'Retain') {
    errors.forbidden(`${path}.persistentVolumeReclaimPolicy`, 'may only be Retain in the context of inline volumes')
  }
  const mode = at(spec, 'volumeMode')
  if (mode !== undefined && mode !== 'Filesystem') {
    const why = 'may not specify volumeMode other than Filesystem in the context of inline volumes'
    errors.forbidden(`${path}.volumeMode`, why)
  }
}

export function checkAccessModes(
  errors: FieldErrors,
  { path, whenEmpty }: { readonly path: string; readonly whenEmpty: string },
  modes: readonly Json[],
): void {
  const field = `${path}.accessModes`
  if (modes.length === 0) errors.required(field, whenEmpty)
  for (const mode of modes) {
    errors.oneOf(field, mode, ACCESS_MODES)
  }
  const others = modes.some((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(String(mode)))
  if (others && modes.includes('ReadWriteOncePod')) {
    errors.forbidden(field, 'may not use ReadWriteOncePod with other access modes')
  }
}

function checkCapacity(errors: FieldErrors, path: string, capacity: JsonMap | undefined): void {
  const amounts = Object.entries(capacity ?? {})
  if (amounts.length === 0) errors.required(path)
  if (capacity?.['storage'] === undefined || amounts.length > 1) errors.unsupported(path, capacity, ['storage'])
  for (const [name, amount] of amounts) {
    checkNotNegative(errors, `${path}[${name}]`, amount)
    const quantity = Quantity.tryParse(String(amount))
    if (quantity === undefined || quantity.sign() > 0) continue
    errors.invalid(`${path}[${name}]`, String(amount), 'must be greater than zero')
  }
}

export function checkNotNegative(errors: FieldErrors, field: string, amount: Json | undefined): void {
  const quantity = Quantity.tryParse(String(amount))
  if (quantity === undefined || quantity.sign() >= 0) return
  errors.invalid(field, Number(quantity.bytes()), 'must be a valid resource quantity')
}

function checkPolicy(errors: FieldErrors, path: string, spec: Json | undefined): void {
  const policy = textAt(spec, 'persistentVolumeReclaimPolicy') || undefined
  errors.oneOf(`${path}.persistentVolumeReclaimPolicy`, policy, RECLAIM_POLICIES)
  const storageClass = textAt(spec, 'storageClassName') ?? ''
  if (storageClass !== '') errors.checked(`${path}.storageClassName`, storageClass, subdomain)
  errors.oneOf(`${path}.volumeMode`, textAt(spec, 'volumeMode'), VOLUME_MODES)
}

function checkCsi(errors: FieldErrors, path: string, spec: Json | undefined): void {
  const csi = objectAt(spec, 'csi')
  if (csi === undefined) return
  checkDriverName(errors, `${path}.csi.driver`, textAt(csi, 'driver') ?? '')
  errors.needed(`${path}.csi.volumeHandle`, textAt(csi, 'volumeHandle'))
  for (const reference of SECRET_REFERENCES) {
    const secret = objectAt(csi, reference)
    if (secret === undefined) continue
    for (const field of ['name', 'namespace']) {
      errors.needed(`${path}.csi.${reference}.${field}`, textAt(secret, field))
    }
  }
}

const SECRET_REFERENCES = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
]

/** Checks the name of a driver: a DNS name of at most 63 characters, which may contain capitals. */
export function checkDriverName(errors: FieldErrors, field: string, name: string): void {
  if (name === '') errors.required(field)
  if (name.length > 63) errors.tooLong(field, 63)
  if (name !== '') errors.checked(field, name.toLowerCase(), subdomain)
}
