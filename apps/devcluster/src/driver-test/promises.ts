/** What a CSI driver promises, as far as it can be told from outside: by a name for reports and a sentence. */
export const PROMISES = {
  idempotence: 'A call that is repeated after it has succeeded succeeds again',
  oneVolume: 'The same name gives the same volume',
  named: 'A volume that was made has an id',
  context: 'The publish context of an attachment stays the same',
  capacity: 'A volume has the size that was asked for',
  reach: 'A volume can be reached from where it was asked for',
  content: 'A clone names its source',
  kept: 'What was made and attached stays so until its end is asked for',
  ended: 'What was detached or deleted is so',
  placed: 'What was published is at its path, and what was unpublished is not',
  usage: 'What is mounted tells its use',
  listed: 'What says that it lists volumes lists them',
  noLeak: 'Nothing is left when everything was deleted',
  comesRight: 'Everything asked for comes right when nothing disturbs any more',
  alive: 'The driver ends only when it is asked to',
} as const

export type PromiseName = keyof typeof PROMISES

export interface Broken {
  readonly promise: PromiseName
  readonly text: string
  /** The volume, or the name of one that is to be made; undefined when it is about none. */
  readonly about: string | undefined
}
