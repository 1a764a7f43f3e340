export type { ChangeKind, Condition, Keep, Rule, SidecarName, Source, SwapChange, Weight } from './change.ts'
export { CHANGES } from './changes/all.ts'
export { type ChangesAfter, changesAfter, OLDEST_EXAMINED } from './changes-after.ts'
export { compareVersions, parseVersion, type Version } from './version.ts'
