export * from './gen/csi/v1/csi.ts'
export * from './gen/services.ts'
export type { Handlers, Method, StreamMethod, UnaryMethod } from './method.ts'
export type { Field, FieldType, Shape } from './shape.ts'
