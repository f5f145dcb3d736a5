module example.org/frontend

go 1.26.0
