import { sameJson } from '../schema/json.ts'
import { qualifiedName } from './names.ts'
import { all, type FieldRule, fields, oneOf, unlessEmpty } from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

const MAX_PARAMETERS = 512
const MAX_PARAMETER_BYTES = 256 * 1024

const provisioner: FieldRule = (errors, path, name) => {
  if (errors.needed(path, name)) errors.checked(path, String(name).toLowerCase(), qualifiedName)
}

const parameters: FieldRule = (errors, path, value) => {
  const keys = Object.keys(Object(value))
  if (keys.length > MAX_PARAMETERS) return errors.tooLong(path, MAX_PARAMETERS)
  if (keys.includes('')) errors.invalid(path, '', 'field can not be empty.')
  errors.atMost(path, value, MAX_PARAMETER_BYTES)
}

const someParameters: FieldRule = (errors, path, value) => {
  if (Object.keys(Object(value)).length === 0) errors.required(path, 'must contain at least one key/value pair')
}

const storageClass: Strategy = {
  rules: fields({
    provisioner,
    parameters,
    reclaimPolicy: unlessEmpty(oneOf('Delete', 'Retain')),
    volumeBindingMode: oneOf('Immediate', 'WaitForFirstConsumer'),
  }),
  fixed: ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'],
}

const volumeAttributesClass: Strategy = {
  rules: fields({ driverName: provisioner, parameters: all(parameters, someParameters) }),
  validateUpdate(errors, object, old) {
    for (const field of ['driverName', 'parameters']) {
      if (!sameJson(object[field], old[field])) errors.forbidden(field, `updates to ${field} are forbidden.`)
    }
  },
}

export const CLASSES: Strategies = { StorageClass: storageClass, VolumeAttributesClass: volumeAttributesClass }
