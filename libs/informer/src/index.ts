export type { Cached, InformerEvent, Reader } from './cached.ts'
export { createInformer, type Informer, type InformerOptions } from './informer.ts'
export { Interner } from './interner.ts'
export { SharedWatch } from './shared-watch.ts'
