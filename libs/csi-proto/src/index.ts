export * from './gen/csi/v1/csi.ts'
export { Timestamp } from './gen/google/protobuf/timestamp.ts'
export * from './gen/services.ts'
export type { Field, FieldType, Handlers, Method, Shape, StreamMethod, UnaryMethod } from './method.ts'
