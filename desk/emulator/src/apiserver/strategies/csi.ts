import { Quantity } from '@csi-sidecars/kube-types'
import { at, isObject, type Json, listAt, sameJson, textAt, withField, withSpec } from '../schema/json.ts'
import { qualifiedName, subdomain } from './names.ts'
import { checkDriverName } from './persistent-volume.ts'
import {
  all,
  checked,
  type FieldRule,
  fields,
  ifPresent,
  items,
  needed,
  notBelow,
  oneOf,
  unique,
  values,
} from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

const MAX_NODE_ID_LENGTH = 256
const tokenSeconds = notBelow(600, 'may not specify a duration less than 10 minutes')

const amount: FieldRule = (errors, path, value) => {
  const isNegative = (Quantity.tryParse(String(value))?.sign() ?? 0) < 0
  if (isNegative) errors.invalid(path, value, 'must be greater than or equal to 0')
}

const driverName: FieldRule = (errors, path, name) => checkDriverName(errors, path, String(name ?? ''))

const nodeId: FieldRule = (errors, path, id) => {
  if (!errors.needed(path, id) || String(id).length <= MAX_NODE_ID_LENGTH) return
  errors.invalid(path, id, `must be ${MAX_NODE_ID_LENGTH} characters or less`)
}

const driverOnNode = fields({
  name: driverName,
  nodeID: nodeId,
  allocatable: fields({ count: notBelow(0, 'must be greater than or equal to 0') }),
})

/** Checks the topology keys of a driver in a CSINode. The path in an error leads to the driver, not to the key. */
const topologyKeys: FieldRule = (errors, path, driver) => {
  values(all(needed, unique(), checked(qualifiedName)))(errors, path, at(driver, 'topologyKeys'))
}

const TOKENS_WARNING =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of ' +
  'tokens in volume attributes'

const csiDriver: Strategy = {
  defaults: (object) =>
    withSpec(object, (spec) => {
      const modes = listAt(spec, 'volumeLifecycleModes')
      return { ...spec, volumeLifecycleModes: modes.length === 0 ? ['Persistent'] : modes }
    }),
  rules: fields({
    spec: fields({
      fsGroupPolicy: ifPresent(oneOf('File', 'None', 'ReadWriteOnceWithFSType')),
      tokenRequests: items(() => fields({ audience: unique(), expirationSeconds: tokenSeconds })),
      volumeLifecycleModes: values(oneOf('Persistent', 'Ephemeral')),
      nodeAllocatableUpdatePeriodSeconds: notBelow(10, 'must be greater than or equal to 10 seconds'),
    }),
  }),
  warnings(object, old) {
    const requests = listAt(object, 'spec', 'tokenRequests')
    const same = old !== undefined && sameJson(requests, listAt(old, 'spec', 'tokenRequests'))
    const decided = at(object, 'spec', 'serviceAccountTokenInSecrets') !== undefined
    return requests.length === 0 || same || decided ? [] : [TOKENS_WARNING]
  },
  validateUpdate(errors, object, old) {
    // kube-apiserver also uses the wrong name `attachedRequired` in this error.
    errors.unchanged('spec.attachedRequired', at(object, 'spec', 'attachRequired'), at(old, 'spec', 'attachRequired'))
    const [now, before] = [object, old].map((each) => at(each, 'spec', 'volumeLifecycleModes'))
    errors.unchanged('spec.volumeLifecycleModes', now, before)
  },
}

const csiNode: Strategy = {
  rules: fields({
    spec: fields({ drivers: items(() => all(driverOnNode, fields({ name: unique() }), topologyKeys)) }),
  }),
  validateUpdate(errors, object, old) {
    for (const before of listAt(old, 'spec', 'drivers')) {
      const name = textAt(before, 'name')
      const now = listAt(object, 'spec', 'drivers').find((driver) => textAt(driver, 'name') === name)
      if (now !== undefined) errors.unchanged('spec.drivers', withoutAllocatable(now), withoutAllocatable(before))
    }
  },
}

const csiStorageCapacity: Strategy = {
  rules: fields({ storageClassName: checked(subdomain), capacity: amount, maximumVolumeSize: amount }),
  fixed: ['nodeTopology', 'storageClassName'],
}

export const CSI: Strategies = { CSIDriver: csiDriver, CSINode: csiNode, CSIStorageCapacity: csiStorageCapacity }

/** Returns a driver of a CSINode without `allocatable`. An update may change only this field. */
function withoutAllocatable(driver: Json): Json {
  return isObject(driver) ? withField(driver, 'allocatable', undefined) : driver
}
