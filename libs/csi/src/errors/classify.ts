import { CODES, type CodeName, RpcError } from './rpc-error.ts'

/** The meaning of a failed call. Without `final`, the driver may still work on it. */
export interface CallVerdict {
  /** True if the operation has failed and the driver no longer works on it. */
  readonly final: boolean
  /** True if the same request can never succeed. Implies `final`. */
  readonly infeasible: { readonly expand: boolean; readonly modify: boolean }
  /** True if the driver refuses to expand a used volume. Implies `final`. */
  readonly inUse: boolean
  /** The reason for the verdict, as a text for people. */
  readonly why: string
}

const FEASIBLE = { expand: false, modify: false } as const
const uncertain = (why: string): CallVerdict => ({ final: false, infeasible: FEASIBLE, inUse: false, why })
const failed = (why: string): CallVerdict => ({ final: true, infeasible: FEASIBLE, inUse: false, why })

/**
 * The verdict about the operation for each gRPC code. A code is final only if the CSI specification guarantees that the
 * driver has stopped. Otherwise a volume could be attached twice.
 */
const VERDICTS: Readonly<Record<CodeName, CallVerdict>> = {
  OK: failed('the driver called a success an error'),
  Canceled: uncertain('the call was given up, here or by the driver; the operation may continue'),
  Unknown: failed('the driver failed without saying how'),
  InvalidArgument: {
    ...failed('the driver refused the request as it is'),
    infeasible: { expand: true, modify: true },
  },
  DeadlineExceeded: uncertain('the time was over while the operation may still run'),
  NotFound: { ...failed('the driver does not know the volume'), infeasible: { expand: true, modify: false } },
  AlreadyExists: failed('the volume is there with other properties'),
  PermissionDenied: failed('the credentials are not allowed to do this'),
  ResourceExhausted: uncertain('the driver or its storage is out of something; an earlier try may still run'),
  FailedPrecondition: { ...failed('the volume is not in a state for this, often because it is in use'), inUse: true },
  Aborted: uncertain('another operation on the volume is running, possibly our own'),
  OutOfRange: { ...failed('the size is not one that the driver offers'), infeasible: { expand: true, modify: false } },
  Unimplemented: failed('the driver cannot do this at all'),
  Internal: failed('the driver failed on its own account'),
  Unavailable: uncertain('the driver was not reached, or was lost while it worked'),
  DataLoss: failed('the storage lost data'),
  Unauthenticated: failed('the credentials were not accepted'),
}

const BY_CODE: readonly CallVerdict[] = Object.keys(CODES).map((name) => VERDICTS[name as CodeName])
const OTHER_CODE = failed('the driver answered with a code that gRPC does not define')
const NO_ANSWER = uncertain('the answer could not be read; the driver may have done anything')
const NO_STATUS = uncertain('the call failed without a gRPC status; it may have reached the driver')

/** Returns the verdict about the operation of a failed call. It depends on the error only, not on its causes. */
export function classify(error: unknown): CallVerdict {
  if (!(error instanceof RpcError)) return NO_STATUS
  const unread = error.origin === 'client' || error.origin === 'session'
  return unread ? NO_ANSWER : (BY_CODE[error.code] ?? OTHER_CODE)
}
