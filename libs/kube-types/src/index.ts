export * from './gen/readers.ts'
export type { MessageReader } from './message.ts'
export {
  compareResourceVersions,
  isJsonObject,
  jsonEqual,
  namespacedRef,
  refOf,
  rfc3339,
  rfc3339Micro,
  wholeNumberOf,
} from './meta.ts'
export { matchesTerm, NAME_FIELD } from './node-selector.ts'
export type * from './objects.ts'
export {
  addFinalizerPatch,
  mergePatchOf,
  PATCH_CONTENT_TYPES,
  type Patch,
  removeFinalizerPatch,
  withFinalizer,
  withoutFinalizer,
} from './patch.ts'
export { ProtobufError, ProtobufReader, textIn } from './protobuf.ts'
export { Quantity, QuantityError } from './quantity.ts'
export * from './resources.ts'
export { resourcePath } from './resources.ts'
export { type StatusDetails, statusOf } from './status.ts'
export { claimStatusPatch, volumePatch } from './strategic-merge.ts'
