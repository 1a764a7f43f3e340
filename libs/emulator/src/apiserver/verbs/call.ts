import type { User } from '../access/authentication.ts'
import type { Rendering } from '../codec/representation.ts'
import type { ResourceRequest } from '../http/request-info.ts'

/** One request for a resource, read and admitted. */
export interface Call {
  readonly request: ResourceRequest
  readonly user: User
  readonly query: URLSearchParams
  readonly contentType: string | undefined
  readonly body: Buffer
  readonly rendering: Rendering
}
