import type { FieldErrors } from '../http/field-errors.ts'
import { at, type KubeObject, objectAt, sameJson, textAt } from '../schema/json.ts'
import { qualifiedName } from './names.ts'
import type { Strategy } from './strategy.ts'

const MOST_PARAMETERS = 512
const MOST_PARAMETER_BYTES = 256 * 1024

export const storageClassStrategy: Strategy = {
  defaults: (object) => ({
    ...object,
    reclaimPolicy: object['reclaimPolicy'] ?? 'Delete',
    volumeBindingMode: object['volumeBindingMode'] ?? 'Immediate',
  }),
  validate(errors, object) {
    checkProvisioner(errors, 'provisioner', textAt(object, 'provisioner') ?? '')
    checkParameters(errors, object)
    const policy = textAt(object, 'reclaimPolicy') ?? ''
    if (policy !== '' && !POLICIES.includes(policy)) errors.unsupported('reclaimPolicy', policy, POLICIES)
    errors.oneOf('volumeBindingMode', textAt(object, 'volumeBindingMode') ?? '', BINDING_MODES)
  },
  validateUpdate(errors, object, old) {
    for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']) {
      errors.unchanged(field, object[field], old[field])
    }
  },
}

const POLICIES = ['Delete', 'Retain']
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer']

export const volumeAttributesClassStrategy: Strategy = {
  validate(errors, object) {
    checkProvisioner(errors, 'driverName', textAt(object, 'driverName') ?? '')
    checkParameters(errors, object)
    if (Object.keys(objectAt(object, 'parameters') ?? {}).length === 0) {
      errors.required('parameters', 'must contain at least one key/value pair')
    }
  },
  validateUpdate(errors, object, old) {
    if (at(object, 'driverName') !== at(old, 'driverName')) {
      errors.forbidden('driverName', 'updates to driverName are forbidden.')
    }
    if (!sameJson(object['parameters'], old['parameters'])) {
      errors.forbidden('parameters', 'updates to parameters are forbidden.')
    }
  },
}

function checkProvisioner(errors: FieldErrors, field: string, name: string): void {
  if (name === '') errors.required(field)
  else for (const each of qualifiedName(name.toLowerCase())) errors.invalid(field, name.toLowerCase(), each)
}

function checkParameters(errors: FieldErrors, object: KubeObject): void {
  const parameters = Object.entries(objectAt(object, 'parameters') ?? {})
  if (parameters.length > MOST_PARAMETERS) {
    errors.tooLong('parameters', MOST_PARAMETERS)
    return
  }
  let bytes = 0
  for (const [key, value] of parameters) {
    if (key === '') errors.invalid('parameters', key, 'field can not be empty.')
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value))
  }
  if (bytes > MOST_PARAMETER_BYTES) errors.tooLong('parameters', MOST_PARAMETER_BYTES)
}
