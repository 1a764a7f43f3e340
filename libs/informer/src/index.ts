export { createInformer, type Informer, type InformerOptions } from './informer.ts'
export { Interner } from './projector.ts'
export type { Cached, InformerEvent, Reader } from './reader.ts'
export { SharedWatch } from './shared-watch.ts'
