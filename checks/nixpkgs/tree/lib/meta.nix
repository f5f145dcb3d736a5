# Programs of packages.
{ lib }:
{
  getExe =
    package:
    lib.getExe' package (
      package.meta.mainProgram
        or (throw "package ${package.name or "without a name"} has no meta.mainProgram")
    );
  getExe' = package: name: "${lib.getBin package}/bin/${name}";
  lowPrio = package: package;
  hiPrio = package: package;
}
