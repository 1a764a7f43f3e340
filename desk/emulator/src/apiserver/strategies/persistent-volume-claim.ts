import { Quantity } from '@csi-sidecars/kube-types'
import { forbidden } from '../http/api-failure.ts'
import type { FieldErrors } from '../http/field-errors.ts'
import {
  type ApiObject,
  at,
  isObject,
  type Json,
  type JsonMap,
  listAt,
  objectAt,
  sameJson,
  textAt,
  withField,
  withSpec,
} from '../schema/json.ts'
import { PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS } from '../schema/kinds.ts'
import type { Store } from '../storage/store.ts'
import { qualifiedName, subdomain } from './names.ts'
import { checkAccessModes, checkNotNegative, VOLUME_MODES } from './persistent-volume.ts'
import type { Strategy } from './strategy.ts'

const RESIZE_WORDS = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort()

export const persistentVolumeClaim: Strategy = {
  prepareCreate: (object) => ({ ...withDataSources(object), status: { phase: 'Pending' } }),
  prepareUpdate: withDataSources,
  validate: checkClaim,
  validateUpdate: checkClaimUpdate,
  validateStatus: checkClaimStatus,
  complete: withDefaultClass,
  admit: admitExpansion,
  warnings: fractionalSizes,
}

const IS_DEFAULT = 'storageclass.kubernetes.io/is-default-class'

/** Sets the newest default class in a claim without `storageClassName`. An empty `storageClassName` stays. */
function withDefaultClass(store: Store, object: ApiObject): ApiObject {
  if (at(object, 'spec', 'storageClassName') !== undefined) return object
  const defaults = [...store.of(STORAGE_CLASS).entries()].filter(
    (entry) => entry.object.metadata.annotations?.[IS_DEFAULT] === 'true',
  )
  const newest = defaults.sort((a, b) => a.revision - b.revision).at(-1)
  if (newest === undefined) return object
  return withSpec(object, (spec) => ({ ...spec, storageClassName: newest.key }))
}

function fractionalSizes(object: ApiObject): readonly string[] {
  const amounts = Object.entries(objectAt(object, 'spec', 'resources', 'requests') ?? {})
  return amounts
    .filter(([, amount]) => String(amount).endsWith('m'))
    .map(([name, amount]) => {
      const field = `spec.resources.requests[${name}]`
      return `${field}: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`
    })
}

function checkClaim(errors: FieldErrors, object: ApiObject): void {
  const spec = object['spec']
  const whenEmpty = 'at least 1 access mode is required'
  checkAccessModes(errors, { path: 'spec', whenEmpty }, listAt(spec, 'accessModes'))
  const request = at(spec, 'resources', 'requests', 'storage')
  if (request === undefined) errors.required('spec.resources[storage]')
  else if ((quantityOf(request)?.sign() ?? 1) <= 0) {
    errors.invalid('spec.resources[storage]', request, 'must be greater than zero')
  }
  const storageClass = textAt(spec, 'storageClassName') ?? ''
  if (storageClass !== '') errors.checked('spec.storageClassName', storageClass, subdomain)
  errors.oneOf('spec.volumeMode', textAt(spec, 'volumeMode'), VOLUME_MODES)
  checkDataSource(errors, spec)
  const attributesClass = textAt(spec, 'volumeAttributesClassName') ?? ''
  if (attributesClass !== '') errors.checked('spec.volumeAttributesClassName', attributesClass, subdomain)
}

function checkDataSource(errors: FieldErrors, spec: Json | undefined): void {
  for (const field of ['dataSource', 'dataSourceRef']) {
    const source = objectAt(spec, field)
    if (source === undefined) continue
    for (const part of ['name', 'kind']) {
      errors.needed(`spec.${field}.${part}`, textAt(source, part))
    }
  }
}

/** Copies `dataSource` to `dataSourceRef` or back, if only one of them is set. */
function withDataSources(object: ApiObject): ApiObject {
  return withSpec(object, (spec) => {
    const { dataSource, dataSourceRef } = spec
    if (dataSource !== undefined && dataSourceRef === undefined) return { ...spec, dataSourceRef: dataSource }
    const implies = isObject(dataSourceRef) && dataSourceRef['namespace'] === undefined
    return dataSource === undefined && implies ? { ...spec, dataSource: dataSourceRef } : spec
  })
}

function checkClaimUpdate(errors: FieldErrors, object: ApiObject, old: ApiObject): void {
  if (!sameJson(comparedSpec(object, old), comparedSpec(old, old))) {
    errors.forbidden(
      'spec',
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    )
  }
  const asked = quantityOf(at(object, 'spec', 'resources', 'requests', 'storage'))
  const before = quantityOf(at(old, 'spec', 'resources', 'requests', 'storage'))
  const capacity = quantityOf(at(old, 'status', 'capacity', 'storage')) ?? ZERO
  if (asked !== undefined && before !== undefined && asked.compare(before) < 0 && asked.compare(capacity) <= 0) {
    errors.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity')
  }
  errors.unchanged('volumeMode', at(object, 'spec', 'volumeMode'), at(old, 'spec', 'volumeMode'))
  checkAttributesClassUpdate(errors, object, old)
}

const ZERO = Quantity.parse('0')

/** Returns the spec without the changeable fields, such as the size and the attributes class of a bound claim. */
function comparedSpec(object: ApiObject, old: ApiObject): JsonMap {
  const spec = objectAt(object, 'spec') ?? {}
  const { volumeName, storageClassName, ...rest } = spec
  const named = (textAt(old, 'spec', 'volumeName') ?? '') === '' ? {} : { volumeName }
  const classed = at(old, 'spec', 'storageClassName') === undefined ? {} : { storageClassName }
  if (at(old, 'status', 'phase') !== 'Bound') return { ...rest, ...named, ...classed }
  const { volumeAttributesClassName: _class, resources, ...fixed } = rest
  const requests = withField(objectAt(resources, 'requests') ?? {}, 'storage', undefined)
  return { ...fixed, ...named, ...classed, resources: { ...objectAt(rest, 'resources'), requests } }
}

function checkAttributesClassUpdate(errors: FieldErrors, object: ApiObject, old: ApiObject): void {
  const requestedClass = at(object, 'spec', 'volumeAttributesClassName')
  if (requestedClass === at(old, 'spec', 'volumeAttributesClassName')) return
  if (at(old, 'status', 'currentVolumeAttributesClassName') === undefined) return
  const field = 'spec.volumeAttributesClassName'
  const why = 'is forbidden when status.currentVolumeAttributesClassName is not nil'
  if (requestedClass === undefined) errors.forbidden(field, `update to nil ${why}`)
  else if (requestedClass === '') errors.forbidden(field, `update to empty string ${why}`)
}

function checkClaimStatus(errors: FieldErrors, object: ApiObject): void {
  for (const [name, amount] of Object.entries(objectAt(object, 'status', 'capacity') ?? {})) {
    checkNotNegative(errors, `status.capacity[${name}]`, amount)
  }
  const path = 'status.allocatedResourceStatuses'
  for (const [name, word] of Object.entries(objectAt(object, 'status', 'allocatedResourceStatuses') ?? {})) {
    checkResourceName(errors, path, name)
    if (!RESIZE_WORDS.includes(String(word))) errors.unsupported(path, name, RESIZE_WORDS)
  }
  for (const [name, amount] of Object.entries(objectAt(object, 'status', 'allocatedResources') ?? {})) {
    checkResourceName(errors, 'status.allocatedResources', name)
    checkNotNegative(errors, `status.allocatedResources[${name}]`, amount)
  }
}

/** Checks the name of a resource: `storage`, or a name with a domain outside Kubernetes. */
function checkResourceName(errors: FieldErrors, field: string, name: string): void {
  errors.checked(field, name, qualifiedName)
  if (qualifiedName(name).length > 0) return
  const native = !name.includes('/') || name.split('/')[0]?.endsWith('kubernetes.io') === true
  if (native && name !== 'storage') errors.unsupported(field, name, ['storage'])
}

/** Refuses a larger size unless the claim is bound and dynamically provisioned, and its class allows expansion. */
function admitExpansion(store: Store, object: ApiObject, old: ApiObject | undefined): void {
  if (old === undefined) return
  const asked = quantityOf(at(object, 'spec', 'resources', 'requests', 'storage'))
  const before = quantityOf(at(old, 'spec', 'resources', 'requests', 'storage'))
  if (asked === undefined || before === undefined || asked.compare(before) <= 0) return
  const name = object.metadata.name ?? ''
  if (at(old, 'status', 'phase') !== 'Bound') {
    throw forbidden(PERSISTENT_VOLUME_CLAIM, name, 'Only bound persistent volume claims can be expanded')
  }
  const className = textAt(object, 'spec', 'storageClassName') ?? ''
  const storageClass = store.of(STORAGE_CLASS).get(className)
  if (at(storageClass?.object, 'allowVolumeExpansion') === true) return
  throw forbidden(
    PERSISTENT_VOLUME_CLAIM,
    name,
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  )
}

function quantityOf(value: Json | undefined): Quantity | undefined {
  return value === undefined ? undefined : Quantity.tryParse(String(value))
}
