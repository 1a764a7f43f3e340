import type { ControllerService, GroupControllerService, IdentityService, NodeService } from '@csi-sidecars/csi-proto'

type Services = typeof IdentityService & typeof ControllerService & typeof NodeService & typeof GroupControllerService
type Methods = { readonly [K in keyof Services as Capitalize<K & string>]: Services[K] }

/** The request type and the response type of a method of the driver. */
export type Request<Name extends keyof Methods> = Parameters<Methods[Name]['requestSerialize']>[0]
export type Response<Name extends keyof Methods> = ReturnType<Methods[Name]['responseDeserialize']>
