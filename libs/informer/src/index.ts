export { createInformer, type Informer, type InformerOptions } from './informer.ts'
export { Interner } from './projector.ts'
export { SharedWatch } from './shared-watch.ts'
export type { Cached, InformerEvent, Reader } from './snapshot.ts'
