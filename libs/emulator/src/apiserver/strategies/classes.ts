import type { FieldErrors } from '../http/field-errors.ts'
import { type KubeObject, objectAt, sameJson, textAt } from '../schema/json.ts'
import { qualifiedName } from './names.ts'
import type { Strategies, Strategy } from './strategy.ts'

const MOST_PARAMETERS = 512
const MOST_PARAMETER_BYTES = 256 * 1024

const storageClass: Strategy = {
  validate(errors, object) {
    checkProvisioner(errors, 'provisioner', textAt(object, 'provisioner') ?? '')
    checkParameters(errors, object)
    errors.oneOf('reclaimPolicy', textAt(object, 'reclaimPolicy') || undefined, POLICIES)
    errors.oneOf('volumeBindingMode', textAt(object, 'volumeBindingMode') ?? '', BINDING_MODES)
  },
  fixed: ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'],
}

const POLICIES = ['Delete', 'Retain']
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer']

const volumeAttributesClass: Strategy = {
  validate(errors, object) {
    checkProvisioner(errors, 'driverName', textAt(object, 'driverName') ?? '')
    checkParameters(errors, object)
    if (Object.keys(objectAt(object, 'parameters') ?? {}).length === 0) {
      errors.required('parameters', 'must contain at least one key/value pair')
    }
  },
  validateUpdate(errors, object, old) {
    for (const field of ['driverName', 'parameters']) {
      if (!sameJson(object[field], old[field])) errors.forbidden(field, `updates to ${field} are forbidden.`)
    }
  },
}

export const CLASSES: Strategies = { StorageClass: storageClass, VolumeAttributesClass: volumeAttributesClass }

function checkProvisioner(errors: FieldErrors, field: string, name: string): void {
  if (errors.needed(field, name)) errors.checked(field, name.toLowerCase(), qualifiedName)
}

function checkParameters(errors: FieldErrors, object: KubeObject): void {
  const keys = Object.keys(objectAt(object, 'parameters') ?? {})
  if (keys.length > MOST_PARAMETERS) {
    errors.tooLong('parameters', MOST_PARAMETERS)
    return
  }
  if (keys.includes('')) errors.invalid('parameters', '', 'field can not be empty.')
  errors.atMost('parameters', object['parameters'], MOST_PARAMETER_BYTES)
}
