import type { InformerEvent } from '@csi-sidecars/informer'

export type UpdateEvent<T> = InformerEvent<T> & { readonly type: 'updated' }
